"""What pyproject.toml cannot say: three modules are compiled, where there is a C compiler."""

from Cython.Build import cythonize
from setuptools import Extension, setup

NAMES = ("journal._fold", "journal._notes", "runtime._dropping")

modules = cythonize(
    [
        Extension(
            f"framehub.{name}", [f"src/framehub/{name.replace('.', '/')}.pyx"], extra_compile_args=["-g0"]
        )
        for name in NAMES
    ],
    build_dir="build",
)
for module in modules:
    module.optional = True  # without them the package works, and costs more
setup(ext_modules=modules)
