"""`robogate publish`: what the public tree holds, for programs and for people."""

import hashlib
import json
import os
import re
import shutil
from html.parser import HTMLParser

import pytest

from robogate.contract.strict import decode
from robogate.errors import EvidenceError, UsageError
from robogate.evidence.bundle import read_bundle
from robogate.evidence.verify_bundle import verify_bundle
from robogate.records.summary import wilson
from robogate.reports.index_records import Index
from robogate.reports.publish_cli import main
from robogate.reports.withdraw_cli import main as withdraw_main


class Page(HTMLParser):
    """A page as a browser takes it: elements, their attributes and their text."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.text = []
        self.sections = {}
        self._section = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "section":
            self._section = dict(attributes)["id"]
            self.sections[self._section] = ""

    def handle_endtag(self, tag):
        if tag == "section":
            self._section = None

    def handle_data(self, data):
        self.text.append(data)
        if self._section:
            self.sections[self._section] += data

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def publish(board, out, boards, *more, status=0):
    assert main([str(board), "--out", str(out), "--key", str(boards.public_file), *more]) == status
    return json.loads((out / "index.json").read_text()), Page((out / "index.html").read_text())


@pytest.fixture(scope="session")
def published(full, boards):
    """The full board, published once. Not to be changed."""
    out = boards.folder / "public"
    index, page = publish(full[0], out, boards, "--allow-unsigned", status=3)
    return out, index, page


def arena_of(index, max_actions=110):
    (arena,) = [a for a in index["arenas"] if a["budget"]["max_actions"] == max_actions]
    return arena


def ranking(index, transfer="zero_shot", **which):
    (found,) = [r for r in arena_of(index, **which)["rankings"] if r["transfer"] == transfer]
    return found["rows"]


class TestIndex:
    def test_it_is_of_its_schema(self, published):
        _, index, _ = published
        assert decode(Index, index).schema == "robogate.index/1"

    def test_best_first_and_equal_rates_share_a_rank(self, published, full):
        rows = ranking(published[1])
        names = full[1]
        assert [row["rank"] for row in rows] == [1, 1, 3, 3, 3, 6]
        assert {row["bundle"] for row in rows[:2]} == {names["best"], names["hostile"]}
        assert [row["label"] for row in rows[2:]] == ["tie.a:P", "tie.b:P", "uns:P", "last:P"]

    def test_training_and_budget_are_ranked_apart(self, published, full):
        names = full[1]
        (here,) = ranking(published[1], "in_environment")
        assert here["bundle"] == names["here"] and here["rank"] == 1
        (longer,) = ranking(published[1], max_actions=120)
        assert longer["bundle"] == names["longer"] and longer["rank"] == 1

    def test_controls_are_in_no_ranking(self, published, full):
        _, index, _ = published
        controls = arena_of(index)["controls"]
        assert [(c["label"], c["rank"], c["successes"]) for c in controls] == [
            ("oracle", None, 4), ("zero", None, 0),
        ]  # fmt: skip
        ranked = {r["bundle"] for a in index["arenas"] for k in a["rankings"] for r in k["rows"]}
        assert not ranked & {full[1]["oracle"], full[1]["zero"]}

    def test_numbers_are_those_of_the_bundles(self, published):
        out, index, _ = published
        for arena in index["arenas"]:
            rows = [r for k in arena["rankings"] for r in k["rows"]] + arena["controls"]
            for row in rows:
                result = json.loads(
                    (out / "bundles" / row["bundle"] / "result/result.json").read_text()
                )
                wins = sum(e["outcome"] == "success" for e in result["episodes"])
                assert row["successes"] == wins and row["scored"] == 4
                assert row["interval"] == list(wilson(wins, 4))
                assert row["outcomes"] == [e["outcome"] for e in result["episodes"]]
                assert row["domains"] == result["summary"]["domains"]
                assert row["qualification_id"] == result["qualification_id"]

    def test_what_is_refused_has_no_number(self, published, full):
        refused = {item["name"]: item for item in published[1]["refused"]}
        assert refused[full[1]["bad"]]["state"] == "quarantined"
        assert refused["12" * 32]["state"] == "error"
        assert all(set(item) == {"state", "name", "reasons"} for item in refused.values())

    def test_what_ended_has_a_reason_and_no_number(self, published, full):
        (ended,) = published[1]["ended"]
        assert ended["bundle"] == full[1]["wrong"] and ended["state"] == "withdrawn"
        assert ended["reason"] == "loaded &lt;b&gt; wrong"
        assert set(ended) == {"state", "bundle", "label", "by", "reason", "at"}

    def test_every_bundle_is_listed_once_and_the_head_is_the_logs(self, published, full):
        out, index, _ = published
        listed = [e["bundle"] for e in index["history"] if e["event"] == "listed"]
        assert sorted(listed) == sorted({*full[1].values(), "12" * 32})
        assert (out / "log.jsonl").read_bytes() == (full[0] / "log.jsonl").read_bytes()
        last = json.loads((out / "log.jsonl").read_text().splitlines()[-1])
        assert index["head"] == {"entries": len(index["history"]), "sha256": last["sha256"]}

    def test_bundles_that_hold_are_published_whole(self, published, full, boards):
        out = published[0]
        names = {path.name for path in (out / "bundles").iterdir()}
        assert names == set(full[1].values()) - {full[1]["bad"]}
        for name in names:
            record = read_bundle(out / "bundles" / name).record
            assert all(
                hashlib.sha256((out / "bundles" / name / f.path).read_bytes()).hexdigest()
                == f.sha256
                for f in record.files
            )
        assert verify_bundle(out / "bundles" / full[1]["best"], key=boards.public).holds

    def test_several_results_of_one_contract_say_so(self, board, boards, tmp_path, capsys):
        endings = ("success", "success", "step_limit", "step_limit")
        boards.promote(board, boards.PolicySpec(run=2, endings=endings))
        index, page = publish(board, tmp_path / "public", boards)
        assert [row["of_contract"] for row in ranking(index)] == [2, 2]
        assert "".join(page.text).count("one of 2 results of this contract") == 2


class TestPage:
    def test_it_needs_nothing_from_elsewhere(self, published):
        out, _, page = published
        text = (out / "index.html").read_text()
        links = re.findall(r"""(?:src|href|action|poster)="([^"]*)\"""", text)
        assert links and "http" not in "".join(links)
        for link in links:
            if not link.startswith(("#", "data:,")):
                assert (out / link).is_file(), link
        assert "url(" not in text and "@import" not in text

    def test_everything_is_escaped(self, published, hostile):
        _, _, page = published
        assert len(page.all("script")) == 2 and page.all("img") == []
        assert not any(name.startswith("on") for _, a in page.elements for name in a)
        shown = "".join(page.text)
        assert hostile[:40] in shown  # the reader sees what it is called
        assert "\u202e" not in shown and "\x07" not in shown

    def test_the_policy_for_content_allows_the_one_script(self, published):
        out, _, page = published
        (policy,) = [m["content"] for m in page.all("meta") if "http-equiv" in m]
        script = (out / "index.html").read_text().rpartition("<script>")[2].partition("</script>")
        digest = hashlib.sha256(script[0].encode()).digest()
        import base64

        assert f"script-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
        assert "default-src 'none'" in policy

    def test_scope_and_labels_stand_there(self, published):
        _, index, page = published
        for number, arena in enumerate(index["arenas"], 1):
            assert arena["scope"] in page.sections[f"arena-{number}"]
            assert arena["instruction"] in page.sections[f"arena-{number}"]
        ranked = "".join(t for name, t in page.sections.items() if name.startswith("arena"))
        for text in ("vla-one", "UNSIGNED", "signed", "no checkpoint: source only"):
            assert text in ranked
        assert "oracle" not in ranked and "oracle" in page.sections["controls"]

    def test_no_number_beside_what_carries_none(self, published, full):
        _, _, page = published
        refused = page.sections["refused"]
        assert "QUARANTINED" in refused and "ERROR" in refused and full[1]["bad"] in refused
        assert "%" not in refused and " of 4" not in refused
        assert "WITHDRAWN" in page.sections["history"]
        assert "loaded &lt;b&gt; wrong" in page.sections["history"]
        assert "%" not in page.sections["history"]
        for name in ("bad:P", "wrong:P"):
            ranked = "".join(t for s, t in page.sections.items() if s.startswith("arena"))
            assert name not in ranked

    def test_videos_of_the_bundle(self, published, full):
        out, index, page = published
        videos = page.all("video")
        (best,) = [r for r in ranking(index) if r["bundle"] == full[1]["best"]]
        assert [v["src"] for v in videos] == [m["path"] for m in best["media"]]
        assert len(videos) == 8 and all("controls" in v and v["preload"] == "none" for v in videos)

    def test_headings_go_down_one_level_at_a_time(self, published):
        levels = [int(tag[1]) for tag, _ in published[2].elements if re.fullmatch(r"h\d", tag)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(after - before <= 1 for before, after in zip(levels, levels[1:]))

    def test_ids_are_unique_and_every_label_has_its_field(self, published):
        page = published[2]
        ids = [a["id"] for _, a in page.elements if "id" in a]
        assert len(ids) == len(set(ids))
        assert {label["for"] for label in page.all("label")} == {"pick-a", "pick-b"}
        for _, attributes in page.elements:
            if "aria-labelledby" in attributes:
                assert attributes["aria-labelledby"] in ids


def test_one_row_has_nothing_to_be_compared_with(board, boards, tmp_path):
    _, page = publish(board, tmp_path / "public", boards)
    assert "compare" not in page.sections and page.all("script") == []


def test_an_empty_board(tmp_path, boards):
    (tmp_path / "board").mkdir()
    index, page = publish(tmp_path / "board", tmp_path / "public", boards)
    assert index["arenas"] == [] and "Nothing is published here yet." in "".join(page.text)


class TestReplacement:
    def test_what_is_not_ours_is_never_replaced(self, board, boards, tmp_path):
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "thesis.tex").write_text("years of work")
        link = tmp_path / "link"
        link.symlink_to(mine)
        file = tmp_path / "file"
        file.write_text("x")
        for place in (mine, link, file):
            with pytest.raises(UsageError, match="another folder"):
                publish(board, place, boards)
        assert (mine / "thesis.tex").read_text() == "years of work"
        assert not list(tmp_path.glob(".*.trees")) and not (board / "log.jsonl").exists()

    def test_an_empty_folder_is_taken(self, board, boards, tmp_path):
        (tmp_path / "public").mkdir()
        publish(board, tmp_path / "public", boards)
        assert (tmp_path / "public/index.html").is_file()

    def test_the_tree_before_stays_for_readers_and_older_ones_go(self, board, boards, tmp_path):
        out = tmp_path / "public"
        trees = []
        for _ in range(4):
            publish(board, out, boards)
            trees.append(out.resolve())
        assert [tree.exists() for tree in trees] == [False, False, True, True]
        assert {p.name for p in (tmp_path / ".public.trees").iterdir()} == {
            trees[2].name, trees[3].name, "lock",
        }  # fmt: skip

    def test_nothing_new_changes_nothing_on_the_board(self, board, boards, tmp_path):
        publish(board, tmp_path / "public", boards)
        before = {p: p.stat().st_mtime_ns for p in board.rglob("*")}
        publish(board, tmp_path / "public", boards)
        assert {p: p.stat().st_mtime_ns for p in board.rglob("*")} == before

    def test_bundles_are_not_stored_twice(self, board, boards, tmp_path):
        publish(board, tmp_path / "public", boards)
        (bundle,) = (board / "bundles").iterdir()
        published = tmp_path / "public/bundles" / bundle.name / "bundle.json"
        assert os.path.samefile(published, bundle / "bundle.json")
        assert published.stat().st_mode & 0o222 == 0

    def test_a_relative_place(self, board, boards, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        from pathlib import Path

        publish(Path("board"), Path("site"), boards)
        monkeypatch.chdir("/")
        assert (tmp_path / "site/index.html").is_file()


class TestHistory:
    def test_a_bundle_that_vanished_is_an_error(self, board, boards, tmp_path):
        publish(board, tmp_path / "public", boards)
        (bundle,) = (board / "bundles").iterdir()
        shutil.rmtree(bundle)
        index, page = publish(board, tmp_path / "public", boards, status=3)
        (refused,) = index["refused"]
        assert refused["name"] == bundle.name and "missing" in refused["reasons"][0]
        assert index["arenas"] == [] and "ERROR" in page.sections["refused"]

    def test_superseded(self, board, boards, tmp_path):
        (old,) = (board / "bundles").iterdir()
        new = boards.promote(board, boards.PolicySpec(run=2))
        publish(board, tmp_path / "public", boards)
        withdraw_main([str(board), old.name, "--reason", "rerun", "--superseded-by", new.name[:12]])
        index, page = publish(board, tmp_path / "public", boards)
        assert [row["bundle"] for row in ranking(index)] == [new.name]
        assert index["ended"][0]["by"] == new.name
        assert (tmp_path / "public/bundles" / old.name / "bundle.json").exists()
        assert [e["event"] for e in index["history"]] == ["listed", "listed", "superseded"]
        assert "SUPERSEDED" in page.sections["history"]

    def cut(self, board, lines):
        log = board / "log.jsonl"
        text = log.read_text().splitlines(keepends=True)
        log.write_text("".join(text[:lines]))

    @pytest.mark.parametrize("forget", [(), ("head.json",)])
    def test_a_cut_log_is_refused_by_either_copy_of_the_head(self, board, boards, tmp_path, forget):
        (bundle,) = (board / "bundles").iterdir()
        out = tmp_path / "public"
        publish(board, out, boards)
        withdraw_main([str(board), bundle.name, "--reason", "wrong"])
        publish(board, out, boards)
        before = (out / "index.json").read_bytes(), out.resolve()
        self.cut(board, 1)
        for name in forget:
            (board / name).unlink()
        with pytest.raises(EvidenceError, match="has 1 entries, 2 were published"):
            publish(board, out, boards)
        assert ((out / "index.json").read_bytes(), out.resolve()) == before

    def test_the_boards_own_head_guards_a_new_place(self, board, boards, tmp_path):
        publish(board, tmp_path / "public", boards)
        (board / "log.jsonl").unlink()
        with pytest.raises(EvidenceError, match="has 0 entries"):
            publish(board, tmp_path / "elsewhere", boards)

    def test_another_board_does_not_replace_this_ones_page(self, board, boards, tmp_path):
        publish(board, tmp_path / "public", boards)
        boards.promote(tmp_path / "second", boards.PolicySpec(run=2))
        with pytest.raises(EvidenceError, match="or this is another board's"):
            publish(tmp_path / "second", tmp_path / "public", boards)

    def test_a_published_index_without_a_head_is_not_replaced(self, board, boards, tmp_path):
        publish(board, tmp_path / "public", boards)
        (tmp_path / "public/index.json").write_text("{}")
        with pytest.raises(EvidenceError, match="no head of a log"):
            publish(board, tmp_path / "public", boards)
        (tmp_path / "public/index.json").unlink()
        with pytest.raises(EvidenceError, match="no head of a log.*publish to a new folder"):
            publish(board, tmp_path / "public", boards)

    def test_a_page_does_not_lie_among_the_bundles(self, board, boards, tmp_path):
        (tmp_path / "link").symlink_to(board)
        for board_named in (board, tmp_path / "link"):
            with pytest.raises(UsageError, match="lies among the bundles"):
                publish(board_named, board / "bundles/public", boards)
        assert len(list((board / "bundles").iterdir())) == 1

    def test_trees_behind_a_link_are_somebody_elses(self, board, boards, tmp_path):
        precious = tmp_path / "elsewhere/tree-0123456789abcdef/file"
        precious.parent.mkdir(parents=True)
        precious.write_text("theirs")
        (tmp_path / ".public.trees").symlink_to("elsewhere")
        with pytest.raises(UsageError, match="is a symbolic link, expected a folder"):
            publish(board, tmp_path / "public", boards)
        assert precious.read_text() == "theirs"


class TestCommand:
    def test_text(self, full, boards, tmp_path, capsys):
        board = shutil.copytree(full[0], tmp_path / "board", symlinks=True)
        publish(board, tmp_path / "public", boards, "--allow-unsigned", status=3)
        out, err = capsys.readouterr()
        assert "  1. vla-one  4/4  100.0 %\n" in out
        assert "  3. uns:P  2/4  50.0 %  UNSIGNED\n" in out
        assert "2 controls, 1 withdrawn or superseded, 2 not accepted" in out
        assert f"QUARANTINED {full[1]['bad']}: " in err and f"ERROR {'12' * 32}: " in err
        assert "\x07" not in out and "\u202e" not in out

    def test_json(self, board, boards, tmp_path, capsys):
        publish(board, tmp_path / "public", boards, "--json")
        document = json.loads(capsys.readouterr().out)
        assert document["ranked"] == 1 and document["refused"] == []

    def test_no_key(self, board, tmp_path):
        with pytest.raises(UsageError, match="no key; give the signers' public keys"):
            main([str(board), "--out", str(tmp_path / "public")])

    def test_no_board(self, tmp_path, boards):
        with pytest.raises(UsageError, match="no such board"):
            publish(tmp_path / "nothing", tmp_path / "public", boards)
