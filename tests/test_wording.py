"""Small pieces of English, and tables of texts."""

from weft.wording import rows


def test_a_table_of_texts_is_read() -> None:
    table = "first|\nand more\n    One\n      text.\n    Another.\nsecond\n    A third."
    assert rows(table) == [
        ["first|and more", "One text.", "Another."],
        ["second", "A third."],
    ]
