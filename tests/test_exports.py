"""What the package shows to the outside is there, is all there is, and is in order."""

import palaver


def test_every_name_that_is_exported_exists() -> None:
    for name in palaver.__all__:
        assert hasattr(palaver, name)


def test_the_exports_are_sorted_and_complete() -> None:
    public = {
        name for name, value in vars(palaver).items() if not name.startswith("_") and not hasattr(value, "__path__")
    }
    modules = {name for name in public if type(vars(palaver)[name]).__name__ == "module"}
    assert sorted(palaver.__all__) == palaver.__all__
    assert set(palaver.__all__) == public - modules
