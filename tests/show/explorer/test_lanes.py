"""Who computes an answer, and in whose turn."""

import asyncio
import threading
import time

import pytest

from kernode.show.explorer import lanes
from kernode.show.explorer.lanes import MOMENT, BusyError, Lane


def who():
    return threading.current_thread()


def computing(seconds):
    """Work that takes so long."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
    return threading.current_thread()


def answers_of(lane, *questions):
    async def ask():
        try:
            return [await lane(*question) for question in questions]
        finally:
            lane.close()

    return asyncio.run(ask())


def test_the_loop_computes_what_took_a_moment_before():
    first, second, third = answers_of(Lane("test", quick=True), (who,), (who,), (who,))
    assert first is not who()
    assert second is third is who()


def test_a_lane_that_is_not_quick_has_its_thread_alone():
    assert who() not in answers_of(Lane("test"), (who,), (who,))


def test_long_answers_stay_in_the_thread_and_others_of_the_lane_do_not_follow_them():
    asked = [(computing, 2 * MOMENT), (who,)] * 3
    found = answers_of(Lane("test", quick=True), *asked)
    assert all(thread is not who() for thread in found[::2])
    assert found[3] is found[5] is who()


def test_one_long_answer_is_forgotten_after_some_short_ones():
    found = answers_of(Lane("test", quick=True), (computing, 2 * MOMENT), *[(computing, 0)] * 9)
    assert found[1] is found[0] is not who()
    assert found[-1] is who()


def test_what_arrives_is_read_between_two_answers_of_the_loop():
    order = []

    async def ask():
        lane = Lane("test", quick=True)
        await lane(order.append, "warm")
        several = [asyncio.ensure_future(lane(order.append, i)) for i in range(3)]
        await asyncio.sleep(0)  # all three wait
        asyncio.get_running_loop().call_soon(order.append, "arrived")
        await asyncio.gather(*several)
        lane.close()

    asyncio.run(ask())
    assert order[0] == "warm"
    assert [one for one in order if isinstance(one, int)] == [0, 1, 2]
    assert order.index("arrived") < order.index(2)


def test_a_failure_on_the_loop_is_the_askers_and_the_next_is_answered():
    def divided(by):
        return 1 / by

    async def ask():
        lane = Lane("test", quick=True)
        assert await lane(divided, 1) == 1
        wrong, right = lane(divided, 0), lane(divided, 2)
        found = await asyncio.gather(wrong, right, return_exceptions=True)
        lane.close()
        return found

    wrong, right = asyncio.run(ask())
    assert isinstance(wrong, ZeroDivisionError)
    assert right == 0.5


def test_who_is_gone_is_not_computed_for_and_waits_no_longer():
    computed = []

    async def ask():
        lane = Lane("test", quick=True)
        await lane(computed.append, "warm")
        gone, stays = (asyncio.ensure_future(lane(computed.append, one)) for one in ("gone", "stays"))
        await asyncio.sleep(0)
        gone.cancel()
        await stays
        assert lane._waiting == 0
        lane.close()

    asyncio.run(ask())
    assert computed in (["warm", "stays"], ["warm", "gone", "stays"])


def test_those_that_wait_for_the_loop_are_counted(monkeypatch):
    monkeypatch.setattr(lanes, "MOST_WAITING", 3)

    async def ask():
        lane = Lane("test", quick=True)
        await lane(who)
        waiting = [asyncio.ensure_future(lane(who)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await lane(who)
        await asyncio.gather(*waiting)
        assert await lane(who) is who()
        lane.close()

    asyncio.run(ask())


def test_a_closed_lane_leaves_nobody_waiting():
    async def ask():
        lane = Lane("test", quick=True)
        await lane(who)
        waiting = [asyncio.ensure_future(lane(who)) for _ in range(3)]
        await asyncio.sleep(0)
        lane.close()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert all(isinstance(one, asyncio.CancelledError) for one in asyncio.run(ask()))
