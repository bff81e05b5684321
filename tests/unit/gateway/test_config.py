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
    assert problem.startswith("f.toml: [journal] record = {'chat': 'tail'}: want a table of names, each with")
    (problem,) = problems(tmp_path, "[journal]\nkeep_days = 0\n")
    assert problem == "f.toml: [journal] keep_days must be above zero, not 0.0"


def test_values_that_need_each_other_are_looked_at_together(tmp_path: Path) -> None:
    found = load(written(tmp_path, '[admin]\nlisten = "0.0.0.0:1"\ntokens = "t"'))
    assert found.settings.admin == AdminSettings(listen="0.0.0.0:1", tokens=Path("t"))
    (problem,) = problems(tmp_path, '[admin]\nlisten = "0.0.0.0:1"')
    assert problem.startswith("f.toml: [admin] listen = 0.0.0.0:1: anybody who reaches")


def test_everything_that_is_wrong_with_a_gateway_is_said(tmp_path: Path) -> None:
    text = """
    [gateway]
    services = "nowhere"
    drain = -1
    max_buffered_bytes = -5
    app = "foo"
    origins = ["example.com"]
    [journal]
    node = "a b"
    [admin]
    listen = "here"
    """
    assert problems(tmp_path, text) == [
        "f.toml: [admin] listen = 'here': want HOST:PORT, like 127.0.0.1:7404, or \"off\"",
        "f.toml: [gateway] services = 'nowhere': want HOST:PORT, like 127.0.0.1:7401, or \"off\"",
        "f.toml: [gateway] max_buffered_bytes must be above zero, not -5",
        "f.toml: [gateway] drain must not be below zero, not -1.0",
        "f.toml: [gateway] app = 'foo': want MODULE:NAME, like myapp:endpoints",
        "f.toml: [gateway] origins: no browser sends 'example.com': want SCHEME://HOST or SCHEME://HOST:PORT"
        " in small letters, no path or slash after it, not the usual port, like https://shop.example",
        "f.toml: [journal] node = 'a b': want 1 to 100 of the letters A-Z and a-z, digits and . _ -;"
        " a journal that has another name keeps it if none is said",
    ]


def test_what_goes_together_is_not_blamed_for_something_else(tmp_path: Path) -> None:
    text = """
    [hub]
    heartbeat = 10
    dead_after = 20
    max_pings = 0
    [gateway]
    listen = "0.0.0.0:1"
    tokens = "t"
    drain = -1
    """
    assert problems(tmp_path, text) == [
        "f.toml: [hub] max_pings must be a number above zero, not 0",
        "f.toml: [gateway] drain must not be below zero, not -1.0",
    ]


def test_half_of_curve_is_said_once(tmp_path: Path) -> None:
    """Without the keys that were left out those of services would be too many; they are not."""
    text = """
    [gateway]
    drain = -1
    curve_key = "k"
    service_keys = "s"
    client_keys = "c"
    """
    assert problems(tmp_path, text) == [
        "f.toml: [gateway] curve_key, client_keys and worker_keys go together: give all of them, or none",
        "f.toml: [gateway] drain must not be below zero, not -1.0",
    ]


def test_what_others_call_it_is_understood(tmp_path: Path) -> None:
    assert problems(
        tmp_path, "[gateway]\nport = 7400\njournal = 'j'\n[admin]\nhost = 'x'\n[mfp]\nport = 1"
    ) == [
        "f.toml: [gateway] port is no setting; did you mean listen?",
        "f.toml: [gateway] journal is no setting; there is a table [journal]",
        "f.toml: [admin] host is no setting; did you mean listen?",
        "f.toml: [mfp] port is no setting",
    ]


def test_a_frame_that_the_journal_cannot_hold_is_the_fault_of_its_own_setting(tmp_path: Path) -> None:
    text = "[mfp]\nmax_frame_bytes = 99999999999999\n"
    assert problems(tmp_path, text) == [
        "f.toml: [mfp] max_frame_bytes = 99999999999999: the journal takes frames of up to 1072693248 bytes"
    ]
    assert load(written(tmp_path, f"{text}[journal]\ndirectory = 'off'\n"))
    assert load(written(tmp_path, "[mfp]\nmax_frame_bytes = 1072693248\n"))


def test_a_service_is_asked_before_it_counts_as_dead(tmp_path: Path) -> None:
    assert problems(tmp_path, "[hub]\nheartbeat = 10\ndead_after = 1\n") == [
        "f.toml: [hub] dead_after 1 is not above heartbeat 10: a service would count as"
        " dead before it is asked"
    ]


def test_a_variable_that_is_none_is_an_error() -> None:
    with pytest.raises(ConfigProblems) as caught:
        load(None, {"FRAMEHUB_MFP_REQUEST_TIMEOUT": "5", "FRAMEHUB_NOPE__X": "1", "HOME": "/"})
    assert caught.value.problems == [
        "environment: FRAMEHUB_MFP_REQUEST_TIMEOUT is no variable of ours;"
        " did you mean FRAMEHUB_MFP__REQUEST_TIMEOUT?",
        "environment: FRAMEHUB_NOPE__X is no setting",
    ]


def test_tables_in_the_environment() -> None:
    found = load(None, {"FRAMEHUB_JOURNAL__RECORD": "login=head, *=off"})
    assert found.settings.recording.record == {"login": "head", "*": "off"}
    with pytest.raises(ConfigProblems) as caught:
        load(None, {"FRAMEHUB_JOURNAL__REDACT": "login=password", "FRAMEHUB_LIMITS__USERS": "7=1"})
    assert caught.value.problems == [
        "environment: FRAMEHUB_JOURNAL__REDACT: [journal] redact can only be set in a file",
        "environment: FRAMEHUB_LIMITS__USERS: [limits] users can only be set in a file",
    ]


def test_tokens_have_a_variable_that_other_commands_have_too() -> None:
    both = {"FRAMEHUB_TOKENS": "t", "FRAMEHUB_GATEWAY__TOKENS": "t"}
    for environment in ({"FRAMEHUB_TOKENS": "t"}, both):
        assert load(None, environment).settings.tokens == Path("t")
    assert load(None, {"FRAMEHUB_TOKENS": ""}).settings.tokens is None
    with pytest.raises(ConfigProblems, match="FRAMEHUB_TOKENS and FRAMEHUB_GATEWAY__TOKENS differ"):
        load(None, both | {"FRAMEHUB_TOKENS": "other"})


def test_tokens_of_another_gateway_do_not_win_over_a_file(tmp_path: Path) -> None:
    file, other = written(tmp_path, "[gateway]\ntokens = 't'\n"), {"FRAMEHUB_TOKENS": "other"}
    with pytest.raises(
        ConfigProblems, match=r"FRAMEHUB_TOKENS = other, but in .*f.toml: \[gateway\] tokens = t"
    ):
        load(file, other)
    assert load(file, {"FRAMEHUB_TOKENS": "t"}).settings.tokens == Path("t")
    assert load(file, {"FRAMEHUB_GATEWAY__TOKENS": "other"}).settings.tokens == Path("other")
    assert load(file, other, {("gateway", "tokens"): (Path("o"), "--tokens")}).settings.tokens == Path("o")
    assert load(written(tmp_path, ""), other).settings.tokens == Path("other")


def test_a_path_that_can_be_none_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigProblems, match="null byte"):
        load(written(tmp_path, '[gateway]\ntokens = "a\\u0000b"\n'), files=True)


def test_files_are_looked_into_where_that_is_wanted(tmp_path: Path) -> None:
    text = f"[gateway]\ntokens = '{tmp_path}/t'\nstatic = '{tmp_path}/s'\ndrain = -1\n"
    with pytest.raises(ConfigProblems) as caught:
        load(written(tmp_path, text), files=True)
    assert [line.replace(f"{tmp_path}/", "") for line in caught.value.problems] == [
        "f.toml: [gateway] drain must not be below zero, not -1.0",
        "f.toml: [gateway] tokens: cannot read the tokens in t: No such file or directory",
        "f.toml: [gateway] static = s: No such file or directory",
    ]
    assert load(written(tmp_path, text.replace("-1", "1")))


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_bytes(b"\xef\xbb\xbf[mfp]\nmax_files = 3\n")
    assert load(tmp_path / "f.toml").settings.mfp.max_files == 3
