import pytest
from tools.docs_site.breaks import with_breaks_in_tables


@pytest.mark.parametrize(
    ("cell", "broken"),
    [
        ("<code>log.retention.hours</code>", "<code>log.<wbr>retention.<wbr>hours</code>"),
        ("a/b, test_it: SSL:SSL", "a/<wbr>b, test_<wbr>it: SSL:<wbr>SSL"),
        ("0.0.0.0 &lt;any&gt;. End.", "0.0.0.0 &lt;any&gt;. End."),
        ('<a href="a.b/c_d">c_d</a>', '<a href="a.b/c_d">c_<wbr>d</a>'),
    ],
)
def test_names_in_cells_can_be_broken_behind_their_parts(cell: str, broken: str) -> None:
    assert with_breaks_in_tables(f"<td>{cell}</td>") == f"<td>{broken}</td>"


def test_text_outside_of_tables_stays_as_it_is() -> None:
    html = "<p>log.retention.hours</p><pre>a.b.c</pre>"
    assert with_breaks_in_tables(html) == html
