"""Records of the compiler: one line a config, sorted, and written only when they change."""

import json

from tilegen import records

RECORDS = {
    "3.9.0": {"softmax": {"_b 2": {"spill": 0, "key": "b"}, "_a 2": {"key": "a", "shared": 16}}},
    "3.6.0": {"softmax": {"_a 2": {"key": "c", "rejected": "fp8e4m3 is not supported on sm_80"}}},
}


def test_records_come_back_and_have_a_line_each(tmp_path):
    assert records.write(tmp_path, "sm_90", RECORDS)
    assert records.read(tmp_path, "sm_90") == RECORDS
    text = (tmp_path / "compiled" / "sm_90.json").read_text()
    assert json.loads(text) == RECORDS
    lines = text.splitlines()
    assert lines[:4] == [
        "{",
        ' "3.6.0": {',
        '  "softmax": {',
        '   "_a 2": {"key": "c", "rejected": "fp8e4m3 is not supported on sm_80"}',
    ]
    assert lines.index('   "_a 2": {"key": "a", "shared": 16},') + 1 == lines.index(
        '   "_b 2": {"key": "b", "spill": 0}'
    )


def test_the_same_records_are_not_written_again(tmp_path):
    assert records.write(tmp_path, "sm_90", RECORDS)
    assert not records.write(tmp_path, "sm_90", RECORDS)


def test_there_may_be_no_records(tmp_path):
    assert records.read(tmp_path, "sm_90") == {}
