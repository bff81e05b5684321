from pathlib import Path

import pytest

from framehub.gateway.config import DEFAULT, KEYS, MOST_BYTES, ConfigProblems, load
from framehub.gateway.settings import AdminSettings, GatewaySettings


def written(folder: Path, text: str) -> Path:
    file = folder / "f.toml"
    file.write_text(text)
    return file


def problems(folder: Path, text: str = "", environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigProblems) as caught:
        load(written(folder, text), environment)
    return [line.replace(f"{folder}/", "") for line in caught.value.problems]


def test_nothing_said_is_the_defaults() -> None:
    found = load()
    assert found.settings == GatewaySettings(admin=AdminSettings())
    assert {one.source for one in found.values} == {DEFAULT}
    assert len(found.values) == len(KEYS)


def test_the_command_line_comes_before_the_environment_before_the_file(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        [gateway]
        listen = "127.0.0.1:1"
        services = "off"
        origins = ["http://a", "http://b"]
        drain = 3
        [mfp]
        request_timeout = 1
        max_files = 7
        checksums = "always xor8"
        [journal]
        directory = "j"
        overflow = "drop"
        [hub]
        timeout = 5
        [rpc]
        acknowledge = false
        """,
    )
    environment = {
        "FRAMEHUB_GATEWAY__LISTEN": "127.0.0.1:2",
        "FRAMEHUB_MFP__MAX_FILES": "8",
        "FRAMEHUB_URL": "x",
    }
    found = load(file, environment, {("gateway", "listen"): ("127.0.0.1:3", "--listen")})
    settings = found.settings
    assert (settings.listen, settings.services, settings.drain) == ("127.0.0.1:3", None, 3.0)
    assert settings.origins == ("http://a", "http://b")
    assert (settings.mfp.request_timeout, settings.mfp.max_files) == (1.0, 8)
    assert (settings.mfp.checksums.mode, settings.mfp.checksums.algorithm) == ("always", "xor8")
    assert (settings.journal, settings.recording.overflow) == (Path("j"), "drop")
    assert (settings.hub.timeout, settings.rpc.acknowledge) == (5.0, False)
    sources = {str(one.key): one.source for one in found.values}
    assert sources["[gateway] listen"] == "command line --listen"
    assert sources["[mfp] max_files"] == "environment FRAMEHUB_MFP__MAX_FILES"
    assert sources["[mfp] request_timeout"] == f"file {file}"
    assert sources["[hub] max_streams"] == DEFAULT


def test_every_mistake_is_named_with_what_may_be_meant(tmp_path: Path) -> None:
    text = """
    listen = "127.0.0.1:1"
    sizes = 1
    [gatway]
    [mfp]
    request_timout = 1
    max_opens = 1
    max_files = "7"
    xyz = 1
    max_streams = 0
    [rpc]
    acknowledge = 1
    """
    environment = {
        "FRAMEHUB_MFP__KEPALIVE": "1",
        "FRAMEHUB_HUB__TIMEOUT": "soon",
        "FRAMEHUB_RPC__WINDOW": "-1",
    }
    assert problems(tmp_path, text, environment) == [
        "f.toml: listen stands outside a table; it belongs in [gateway]",
        "f.toml: sizes stands outside a table; there are"
        " [gateway], [journal], [mfp], [hub], [rpc], [limits], [admin]",
        "f.toml: [gatway] is no table; did you mean [gateway]?",
        "f.toml: [mfp] request_timout is no setting; did you mean request_timeout?",
        "f.toml: [mfp] max_opens is no setting; it belongs in [hub]",
        "f.toml: [mfp] max_files = '7': want a whole number",
        "f.toml: [mfp] xyz is no setting",
        "f.toml: [rpc] acknowledge = 1: want true or false",
        "environment: FRAMEHUB_HUB__TIMEOUT = 'soon': want a number",
        "environment: FRAMEHUB_MFP__KEPALIVE is no setting; did you mean FRAMEHUB_MFP__KEEPALIVE?",
        "f.toml: [mfp] max_streams must be above zero, not 0",
        "environment FRAMEHUB_RPC__WINDOW: [rpc] window must be above zero, not -1",
    ]


def test_values_that_do_not_go_together_are_named_too(tmp_path: Path) -> None:
    found = problems(
        tmp_path, '[mfp]\nverify_always = true\nchecksums = "off"\n[gateway]\nlisten = "0.0.0.0:1"'
    )
    assert found[0] == "f.toml: [mfp] verify_always needs a checksum, but checksums are off"
    assert found[1].startswith("f.toml: [gateway] listen = 0.0.0.0:1: anybody who reaches")
    assert problems(tmp_path, "[gateway]\nclients = 'off'")[0].startswith(
        "f.toml: [gateway] clients and workers"
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [("[mfp", "cannot be read as TOML: "), ("x" * (MOST_BYTES + 1), f"over {MOST_BYTES} bytes")],
)
def test_a_file_that_is_no_toml_is_said_so(tmp_path: Path, text: str, want: str) -> None:
    (problem,) = problems(tmp_path, text)
    assert want in problem


def test_a_file_that_is_not_there_or_not_text_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblems, match="No such file"):
        load(tmp_path / "nowhere.toml")
    (tmp_path / "f.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigProblems, match="cannot be read as TOML"):
        load(tmp_path / "f.toml")


def test_one_line_tells_of_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblems) as caught:
        load(written(tmp_path, "a = 1\nb = 2"))
    assert str(caught.value).endswith("(and 1 more: framehub config check)")


def test_what_is_recorded_is_a_table_of_its_own(tmp_path: Path) -> None:
    found = load(written(tmp_path, '[journal.record]\n"chat" = "head"\n"*" = "off"\n'))
    assert found.settings.recording.record == {"chat": "head", "*": "off"}
    (problem,) = problems(tmp_path, '[journal.record]\n"chat" = "tail"\n')
    assert problem.startswith("f.toml: [journal] record = {'chat': 'tail'}: want a table of names and")
    (problem,) = problems(tmp_path, "[journal]\nkeep_days = 0\n")
    assert problem == "f.toml: [journal] keep_days must be above zero, not 0.0"


def test_values_that_need_each_other_are_looked_at_together(tmp_path: Path) -> None:
    found = load(written(tmp_path, '[admin]\nlisten = "0.0.0.0:1"\ntokens = "t"'))
    assert found.settings.admin == AdminSettings(listen="0.0.0.0:1", tokens=Path("t"))
    (problem,) = problems(tmp_path, '[admin]\nlisten = "0.0.0.0:1"')
    assert problem.startswith("f.toml: [admin] listen = 0.0.0.0:1: anybody who reaches")
