"""Run one fake as a program of its own, to try a host by hand; every request and answer is printed.

python -m tests.zoo.dialects NAME --manager URL [--port N] [--referee-port N] [--second-referee-port N]
python -m tests.zoo.dialects --list
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from typing import Any

from tests.zoo.dialects import TRAITS, ZOO, Answer, Fake, SocketNet


class Shown(SocketNet):
    """Real sockets, and what goes over them on the screen."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = asyncio.Event()

    async def close(self, url: str) -> None:
        await super().close(url)
        self.closed.set()

    async def open(self, url: str, handle: Any) -> None:
        async def answer(body: bytes, peer: Any) -> Answer:
            print(f"> {body.decode(errors='replace')}", flush=True)
            answer: Answer = await handle(body, peer)
            print(f"< {answer.status} {answer.body.decode(errors='replace')}", flush=True)
            return answer

        await super().open(url, answer)
        print(f"listening at {url}", flush=True)

    async def post(self, url: str, body: bytes, seconds: float) -> Answer:
        print(f"POST {url} {body.decode()}", flush=True)
        answer = await super().post(url, body, seconds)
        print(f"  {answer.status} {answer.body.decode(errors='replace')}", flush=True)
        return answer


async def live(fake: Fake, net: Shown) -> None:
    """Come, and stay until LEAGUE_COMPLETED makes it exit or the user stops it."""
    await fake.come()
    if fake.listening:
        await net.closed.wait()
        print("exits, for the league is over")
    else:
        print(f"does not play: {', '.join(fake.missed) or fake.status or 'that is its kind'}")
    await net.finish()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.dialects", description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", choices=sorted(ZOO), metavar="NAME", help="which fake; --list shows them")
    parser.add_argument("--list", action="store_true", help="show every fake and what it does, and end")
    parser.add_argument("--manager", metavar="URL", default="http://127.0.0.1:8000/mcp", help="where it registers")
    parser.add_argument("--port", type=int, default=0, help="its own port (any free one)")
    parser.add_argument("--referee-port", type=int, default=8001, help="where it believes REF01 to be (8001)")
    parser.add_argument("--second-referee-port", type=int, default=8002, help="where it believes REF02 to be (8002)")
    chosen = parser.parse_args()
    if chosen.list:
        for one in ZOO.values():
            print(f"{one.name}\n" + "\n".join(f"    {TRAITS[trait].does}" for trait in sorted(one.traits)))
        return 0
    if chosen.name is None:
        parser.error("which fake? --list shows them")
    net = Shown()
    ports = {"REF01": chosen.referee_port, "REF02": chosen.second_referee_port}
    fake = Fake(ZOO[chosen.name], net.reserve(chosen.port), chosen.manager, net, fixed_ports=ports)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(live(fake, net))
    print(f"broken: {fake.broken}; wasted: {len(fake.wasted)}; joined: {len(fake.joined)}; chose: {len(fake.chose)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
