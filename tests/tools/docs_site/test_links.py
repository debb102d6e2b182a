import pytest
from tools.docs_site.links import linked_paths, repository_path, site_path, with_site_links


@pytest.mark.parametrize(
    ("page", "link", "on_the_site"),
    [
        ("README.md", "docs/testing.md", "testing.md"),
        ("README.md", "docs/testing.md#the-clock", "testing.md#the-clock"),
        ("README.md", "CONTRIBUTING.md", "CONTRIBUTING.md"),
        ("docs/testing.md", "compat.md", "compat.md"),
        ("docs/testing.md", "../README.md", "index.md"),
        ("docs/testing.md", "../compat/styles/test_faust.py", "files/compat/styles/test_faust.py"),
        ("docs/decisions/0001-own-codec.md", "../architecture.md", "../architecture.md"),
        ("docs/decisions/0001-own-codec.md", "../../deploy/compose.yaml", "../files/deploy/compose.yaml"),
        ("docs/rules.md", "#x-the-replica-fetcher", "#x-the-replica-fetcher"),
        ("docs/rules.md", "https://kafka.apache.org/", "https://kafka.apache.org/"),
    ],
)
def test_a_link_leads_to_the_same_file_on_the_site(page: str, link: str, on_the_site: str) -> None:
    assert with_site_links(f"See [it]({link}).", page) == f"See [it]({on_the_site})."


def test_the_paths_that_a_page_links_to_are_those_of_the_repository() -> None:
    text = "[a](testing.md#x) [b](../deploy/Dockerfile) [c](#here) [d](https://example.com/e)"
    assert list(linked_paths(text, "docs/operations.md")) == ["docs/testing.md", "deploy/Dockerfile"]


@pytest.mark.parametrize("path", ["README.md", "SECURITY.md", "docs/cli.md", "docs/decisions/0002-timer.md"])
def test_every_page_is_found_from_its_path_on_the_site(path: str) -> None:
    assert repository_path(site_path(path)) == path
