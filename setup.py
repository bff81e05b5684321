"""What pyproject.toml cannot say: two modules are compiled, where there is a C compiler."""

from Cython.Build import cythonize
from setuptools import Extension, setup

NAMES = ("_fold", "_notes")

modules = cythonize(
    [
        Extension(
            f"framehub.journal.{name}", [f"src/framehub/journal/{name}.pyx"], extra_compile_args=["-g0"]
        )
        for name in NAMES
    ],
    build_dir="build",
)
for module in modules:
    module.optional = True  # without them the package works, and a journal costs more
setup(ext_modules=modules)
