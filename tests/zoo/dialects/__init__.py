"""The dialect zoo: fakes of the agents that are in the field, each with the traits that were seen there.

net = MemoryNet(hall.network, hall.world("zoo").caller)  # or SocketNet(), and net.reserve() for an endpoint
fake = Fake(TEN["heron"], endpoint, manager_url, net, clock=hall.clock)
await fake.come()  # opens its port and registers, in the order of its kind
... play ...
fake.broken, fake.wasted  # what it insists on and did not get; forms tried twice
fake.joined, fake.chose, fake.over, fake.posted, fake.seen  # what it lived through
fake.notes()  # the rules that a host should have noted of it
await fake.leave()
"""

from tests.zoo.dialects.answers import Answer
from tests.zoo.dialects.fake import Died, Fake, Seen
from tests.zoo.dialects.hosting import MemoryNet, SocketNet
from tests.zoo.dialects.species import ALONE, NOBODY_HOSTS, TEN, TIC_TAC_TOE, ZOO, Species
from tests.zoo.dialects.traits import RULES, TRAITS

__all__ = [
    "ALONE",
    "NOBODY_HOSTS",
    "RULES",
    "TEN",
    "TIC_TAC_TOE",
    "TRAITS",
    "ZOO",
    "Answer",
    "Died",
    "Fake",
    "MemoryNet",
    "Seen",
    "SocketNet",
    "Species",
]
