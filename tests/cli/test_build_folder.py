"""`tilegen build` on a folder: what is written, what is left alone, what is refused."""

import ast
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilegen import targets

Run = Callable[..., Any]


def test_a_build_writes_modules_runtime_package_and_manifest(project: Any, tilegen: Run) -> None:
    ran = tilegen("build", "specs")
    assert ran.status == 0, ran.err
    assert "2 ops, 5 files written" in ran.out
    assert set(project.contents()) == {
        "__init__.py", "_runtime.py", "manifest.json", "scale.py", "total.py",
    }  # fmt: skip
    for name in ("__init__.py", "_runtime.py", "scale.py", "total.py"):
        ast.parse(project.read(f"generated/{name}"))
    manifest = json.loads(project.read("generated/manifest.json"))
    assert manifest["targets"] == [target.name for target in targets.TARGETS]
    assert manifest["rejected"]["a100"] == "no fp8e4m3 on sm_80"
    assert list(manifest["ops"]) == ["scale", "total"]
    assert set(manifest["files"]) == set(project.contents()) - {"manifest.json"}
    total = manifest["ops"]["total"]
    assert (total["spec"], total["file"], total["family"]) == (
        "specs/total.py", "total.py", "rowwise",
    )  # fmt: skip
    kernels = [
        name for item in total["variants"][0]["stages"][0]["schedules"] for name in item["kernels"]
    ]
    for kernel in kernels:
        assert f"def {kernel}(" in project.read("generated/total.py")


def test_a_second_build_touches_nothing(built: Any, tilegen: Run) -> None:
    before = built.contents()
    first, second = tilegen("build", "specs"), tilegen("build", "specs", "--force")
    assert (first.status, second.status) == (0, 0)
    assert "nothing to do" in first.out
    assert built.contents() == before


def test_the_same_specs_give_the_same_files_from_any_working_folder(
    built: Any, tilegen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = built.contents()
    (built.folder / "generated/__pycache__/tilegen.stamp").unlink()
    monkeypatch.chdir(built.folder / "specs")
    assert "nothing to do" in tilegen("build", ".", "--out", "../generated").out
    assert built.contents() == before


def test_an_edited_spec_rewrites_its_module_only(built: Any, tilegen: Run) -> None:
    before = built.contents()
    built.write("specs/total.py", built.read("specs/total.py").replace("up.", "up, twice."))
    assert "2 files written" in tilegen("build", "specs").out
    after = built.contents()
    assert {name for name in after if after[name] != before[name]} == {"total.py", "manifest.json"}
    assert "Add each row up, twice." in built.read("generated/total.py")


def test_a_changed_helper_rebuilds(project: Any, tilegen: Run) -> None:
    project.write("specs/_share.py", "FACTOR = 2.0\n")
    text = project.read("specs/scale.py").replace("x * weight", "x * weight * FACTOR")
    project.write("specs/scale.py", "from _share import FACTOR\n" + text)
    tilegen("build", "specs")
    project.write("specs/_share.py", "FACTOR = 3.0\n")
    assert "files written" in tilegen("build", "specs").out
    assert "* 3.0" in project.read("generated/scale.py")


def test_a_changed_helper_from_elsewhere_rebuilds(
    project: Any, tilegen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("library/factors_of_mine.py", "FACTOR = 2.0\n")
    monkeypatch.syspath_prepend(str(project.folder / "library"))
    text = project.read("specs/scale.py").replace("x * weight", "x * weight * FACTOR")
    project.write("specs/scale.py", "from factors_of_mine import FACTOR\n" + text)
    tilegen("build", "specs")
    assert "nothing to do" in tilegen("build", "specs").out
    project.write("library/factors_of_mine.py", "FACTOR = 3.0\n")
    monkeypatch.delitem(__import__("sys").modules, "factors_of_mine")
    assert "files written" in tilegen("build", "specs").out
    assert "* 3.0" in project.read("generated/scale.py")


def test_the_stamp_does_not_hide_a_changed_or_missing_file(built: Any, tilegen: Run) -> None:
    (built.folder / "generated/scale.py").unlink()
    assert "1 files written" in tilegen("build", "specs").out
    built.write("generated/_runtime.py", built.read("generated/_runtime.py") + "# mine\n")
    assert tilegen("build", "specs").status == 1


def test_a_spec_that_is_gone_takes_its_module_along(built: Any, tilegen: Run) -> None:
    built.write("generated/mine.py", "# not tilegen's\n")
    (built.folder / "specs/scale.py").unlink()
    assert tilegen("build", "specs").status == 0
    assert set(built.contents()) == {
        "__init__.py", "_runtime.py", "manifest.json", "mine.py", "total.py",
    }  # fmt: skip
    assert list(json.loads(built.read("generated/manifest.json"))["ops"]) == ["total"]


def test_one_spec_by_itself_updates_its_op_only(built: Any, tilegen: Run) -> None:
    before = built.contents()
    built.write("specs/total.py", built.read("specs/total.py").replace("up.", "up, twice."))
    built.write("specs/scale.py", built.read("specs/scale.py").replace("column.", "one."))
    ran = tilegen("build", "specs/total.py")
    assert (ran.status, ran.err) == (0, "")
    after = built.contents()
    assert {name for name in after if after[name] != before[name]} == {"total.py", "manifest.json"}
    assert list(json.loads(built.read("generated/manifest.json"))["ops"]) == ["scale", "total"]
    # The folder as a whole is not taken to be fresh.
    assert "2 files written" in tilegen("build", "specs").out
    assert "Scale each one." in built.read("generated/scale.py")


def test_one_spec_renamed_inside_its_file(built: Any, tilegen: Run) -> None:
    built.write("specs/total.py", built.read("specs/total.py").replace("def total", "def sums"))
    assert tilegen("build", "specs/total.py").status == 0
    assert {"sums.py", "scale.py"} < set(built.contents())
    assert "total.py" not in built.contents()


def test_two_folders_of_specs_share_a_folder_of_modules(built: Any, tilegen: Run) -> None:
    built.write("more/double.py", built.read("specs/scale.py").replace("def scale", "def double"))
    assert tilegen("build", "more").status == 0
    assert tilegen("build", "specs", "--check").status == 0
    assert {"double.py", "scale.py", "total.py"} < set(built.contents())


def test_a_build_of_one_spec_for_other_targets_says_what_no_longer_fits(
    built: Any, tilegen: Run
) -> None:
    ran = tilegen("build", "specs/total.py", "--target", "h200")
    assert ran.status == 0
    assert "1 other ops in generated were built with other templates or targets" in ran.err
    assert "`tilegen build specs --out generated`" in ran.err


def test_targets_are_chosen(project: Any, tilegen: Run) -> None:
    assert tilegen("build", "specs", "--target", "h200", "--target", "mi300x").status == 0
    manifest = json.loads(project.read("generated/manifest.json"))
    assert manifest["targets"] == ["h200", "mi300x"]
    text = project.read("generated/scale.py")
    assert '"sm_90"' in text
    assert '"sm_80"' not in text


def test_an_unknown_target_lists_the_known_ones(project: Any, tilegen: Run) -> None:
    ran = tilegen("build", "specs", "--target", "h20")
    assert ran.status == 1
    assert 'unknown GPU "h20". Did you mean "h200"? Known: a100, h100,' in ran.err
    assert not (project.folder / "generated").exists()


# ---- somebody's own work ------------------------------------------------------------------------


def test_a_hand_edited_module_stops_the_whole_build(built: Any, tilegen: Run) -> None:
    built.write("generated/scale.py", built.read("generated/scale.py") + "# mine\n")
    built.write("specs/total.py", built.read("specs/total.py").replace("up.", "up, twice."))
    before = built.contents()
    ran = tilegen("build", "specs")
    assert ran.status == 1
    assert "generated/scale.py is edited by hand; nothing was written" in ran.err
    assert "-# mine" in ran.err
    assert "--force" in ran.err
    assert built.contents() == before

    assert tilegen("build", "specs", "--force").status == 0
    assert "# mine" not in built.read("generated/scale.py")


def test_many_differences_are_left_to_check(built: Any, tilegen: Run) -> None:
    built.write("generated/scale.py", "# mine\n" * 50)
    ran = tilegen("build", "specs")
    assert ran.status == 1
    assert "# mine" not in ran.err
    assert "--check shows the differences" in ran.err


def test_a_hand_edited_orphan_is_not_removed_unasked(built: Any, tilegen: Run) -> None:
    built.write("generated/scale.py", built.read("generated/scale.py") + "# mine\n")
    (built.folder / "specs/scale.py").unlink()
    assert tilegen("build", "specs").status == 1
    assert "# mine" in built.read("generated/scale.py")
    assert tilegen("build", "specs", "--force").status == 0
    assert "scale.py" not in built.contents()


def test_a_file_that_no_build_wrote_is_not_overwritten_unasked(project: Any, tilegen: Run) -> None:
    project.write("generated/scale.py", "mine = 1\n")
    ran = tilegen("build", "specs")
    assert ran.status == 1
    assert "generated/scale.py is not built by tilegen" in ran.err
    assert set(project.contents()) == {"scale.py"}
    assert tilegen("build", "specs", "--force").status == 0


def test_a_package_file_of_ones_own_stays(project: Any, tilegen: Run) -> None:
    project.write("generated/__init__.py", "from .scale import scale\n")
    assert tilegen("build", "specs", "--force").status == 0
    assert tilegen("build", "specs", "--check").status == 0
    assert project.read("generated/__init__.py") == "from .scale import scale\n"


def test_bytes_that_are_no_text_count_as_an_edit(built: Any, tilegen: Run) -> None:
    (built.folder / "generated/scale.py").write_bytes(b"\xff\xfe\x00")
    ran = tilegen("build", "specs")
    assert ran.status == 1
    assert "generated/scale.py is edited by hand" in ran.err


# ---- --check ------------------------------------------------------------------------------------


def test_check_is_silent_about_what_is_fresh(built: Any, tilegen: Run) -> None:
    before = built.contents()
    ran = tilegen("build", "specs", "--check")
    assert (ran.status, ran.out) == (0, "generated: 2 ops, all up to date\n")
    assert built.contents() == before


def test_check_tells_the_states_apart(built: Any, tilegen: Run) -> None:
    built.write("specs/third.py", built.read("specs/scale.py").replace("def scale", "def third"))
    built.write("specs/total.py", built.read("specs/total.py").replace("up.", "up, twice."))
    built.write("generated/scale.py", built.read("generated/scale.py") + "# mine\n")
    before = built.contents()
    ran = tilegen("build", "specs", "--check")
    assert ran.status == 1
    for said in (
        "missing: generated/third.py",
        "stale: generated/total.py",
        "edited by hand: generated/scale.py",
        "stale: generated/manifest.json",
        '-"""Add each row up.',
        '+"""Add each row up, twice.',
        "-# mine",
    ):
        assert said in ran.out.splitlines(), said
    assert "generated/_runtime.py" not in ran.out
    assert built.contents() == before


def test_check_finds_an_orphan(built: Any, tilegen: Run) -> None:
    (built.folder / "specs/total.py").unlink()
    ran = tilegen("build", "specs", "--check")
    assert ran.status == 1
    assert "orphaned: generated/total.py" in ran.out.splitlines()
    assert (built.folder / "generated/total.py").exists()


def test_check_before_any_build(project: Any, tilegen: Run) -> None:
    ran = tilegen("build", "specs", "--check")
    assert ran.status == 1
    assert "missing: generated/scale.py" in ran.out
    assert not (project.folder / "generated").exists()


def test_check_does_not_trust_the_stamp(built: Any, tilegen: Run) -> None:
    # A manifest made to agree with a wrong module, as a bad merge leaves it.
    from tilegen.render.writer import content_hash

    wrong = built.read("generated/scale.py").replace("x * weight", "x + weight")
    manifest = json.loads(built.read("generated/manifest.json"))
    manifest["files"]["scale.py"] = content_hash(wrong)
    built.write("generated/scale.py", wrong)
    built.write("generated/manifest.json", json.dumps(manifest, indent=1) + "\n")
    ran = tilegen("build", "specs", "--check")
    assert ran.status == 1
    assert "stale: generated/scale.py" in ran.out


# ---- folders that cannot be used ----------------------------------------------------------------


def test_no_folder_of_specs(project: Any, tilegen: Run) -> None:
    ran = tilegen("build", "nowhere")
    assert (ran.status, ran.err) == (1, "error: no spec file or folder at nowhere\n")


def test_no_spec_in_the_folder(project: Any, tilegen: Run) -> None:
    project.write("empty/_helper.py", "")
    ran = tilegen("build", "empty")
    assert (ran.status, ran.err) == (
        1, "error: no spec files in empty: a spec is a .py file there\n",
    )  # fmt: skip


def test_modules_beside_the_specs_are_refused(project: Any, tilegen: Run) -> None:
    for specs in ("specs", "specs/scale.py"):
        ran = tilegen("build", specs, "--out", "specs/../specs", "--force")
        assert ran.status == 1
        assert "is the folder of the specs" in ran.err
    assert "@elementwise" in project.read("specs/scale.py")


def test_a_file_where_the_folder_should_be(project: Any, tilegen: Run) -> None:
    for out in ("pyproject.toml", "pyproject.toml/inside"):
        ran = tilegen("build", "specs", "--out", out)
        assert (ran.status, ran.err) == (
            1, f"error: --out {out}: pyproject.toml is a file, not a folder\n",
        )  # fmt: skip


def test_a_damaged_manifest(built: Any, tilegen: Run) -> None:
    for damage in ("{", "[]", '{"files": 3}', '{"ops": {"scale": 1}}'):
        built.write("generated/manifest.json", damage)
        ran = tilegen("build", "specs")
        assert ran.status == 1
        assert "manifest.json is damaged" in ran.err
        assert len(ran.err.splitlines()) == 1


def test_a_folder_that_cannot_be_written(
    project: Any, tilegen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device", "generated/scale.py")

    monkeypatch.setattr(os, "replace", full)
    ran = tilegen("build", "specs")
    assert (ran.status, ran.err) == (1, "error: generated/scale.py: No space left on device\n")
    assert list(Path("generated").iterdir()) == []
