import kernode as kn


def test_every_public_name_is_there():
    assert {*kn._HOMES, *kn._MODULES} == set(kn.__all__) == set(dir(kn))
    for name in kn.__all__:
        assert getattr(kn, name) is not None
    assert not hasattr(kn, "nothing")


def test_every_variant_is_summarised():
    from kernode.descriptions import DESCRIPTIONS

    assert set(DESCRIPTIONS) == {*kn.VARIANTS, "auto", "best", "fast", "similarity"}
    assert all(len(text) < 100 for text in DESCRIPTIONS.values())
