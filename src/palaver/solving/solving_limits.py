"""The limits of solving: those a user sets, and the room's cut-offs. This module loads nothing else of the room."""

from __future__ import annotations

from palaver.lean_dataclasses import dataclass
from palaver.limits import Limit

MAX_NODES = 200  # nodes of a tree; beyond it, every choice takes its shortest alternative
MAX_REPETITIONS = 20  # rounds of `*` and `+` beyond their minimum
BUDGET = 5_000  # steps per tree: fresh trees and changes of one; beyond it, the search for a tree ends
# Steps of search per message. A session cannot wait as long as a user who asked for one input.
MESSAGE_STEP_BUDGET = 1_000


@dataclass(frozen=True, slots=True)
class EvolutionRates:
    """Parameters of the population. Names and meanings are those of the reference implementation where it has them."""

    population_size: int = 100
    max_generations: int = 500  # climbs for one tree
    elitism_rate: float = 0.1  # share of the population, the best, that is never replaced
    crossover_rate: float = 0.4  # share of climbs that start from a crossover
    mutation_rate: float = 0.2  # share of crossovers that are mutated before they climb
    tournament_size: float = 0.1  # share of the population that competes to be a parent
    destruction_rate: float = 0.0  # share of climbs that start from a fresh tree in any case


DEFAULT_RATES = EvolutionRates()


@dataclass(frozen=True, slots=True)
class SolvingLimits:
    """Bounds on the size of trees and on the work spent on each."""

    max_nodes: int = MAX_NODES
    max_repetitions: int = MAX_REPETITIONS
    budget: int = BUDGET
    rates: EvolutionRates = DEFAULT_RATES


MAX_LISTED_VALUES = Limit(4096, "values in the collection of an `in`", "the condition is only checked, not solved")
MAX_MODULUS = Limit(100_000, "as the modulus in a condition", "the condition is only checked, not solved")
MAX_PROPAGATION_PASSES = Limit(
    8, "passes of bounds propagation", "domains stay wider, and a contradiction may not be proved"
)
MAX_POWER = 8  # exponents of a view; beyond it, the side of a comparison is not inverted
MAX_DIRECTION_COMBINATIONS = 256  # ways to direct all equations; beyond it, each takes its cheaper direction
MAX_SPELLER_DEPTH = 20  # rules inside each other; beyond it, words are read by the matcher

MAX_INSTANCES = Limit(10_000, "instances of one equation in one tree", "the others are left to the search")
MAX_AMOUNT = Limit(10_000, "as a length or count required by an equation", "no such part is built")
MAX_DOMAIN_DRAWS = Limit(60, "draws from one domain", "the domain counts as empty")
MAX_CONSTRUCTION_ROUNDS = 8  # of solving and repairing one tree; equations in a cycle need several
MAX_DISTINCT_DRAWS = 20  # of a node that has to differ from others; beyond it, none is taken to exist
MAX_GENERATOR_RUNS = 20  # of one generator for a value with a property; beyond it, the search goes on
MAX_AFFIX_LENGTH = 64  # of a text that a field must contain: two that must begin with each other would grow for ever
MAX_DECODED_WORDS = Limit(40_000, "words of a field decoded to find a length", "others are left to the search")
USUAL_DECODED_WORDS = 4096  # words decoded at once, so that a length is found in all of its spellings
MAX_LEADING_ZEROS = 4  # spellings of a number, with more and more zeros in front
MAX_CACHED_ASSIGNMENTS = 4096  # values kept with their nodes; beyond it, all are dropped
MAX_CACHED_DOMAINS = 64  # word counts kept per symbol; beyond it, all are dropped

# Steps spent on a tree from which on smaller fresh trees are tried as well.
STEPS_BEFORE_SMALLER_TREES = 40
MAX_FIELD_DRAWS = 300  # of one field; beyond it, the tree is discarded with that reason
MAX_FIELD_CLIMBS = 4  # for one field; beyond it, the tree is discarded
MAX_FIELD_CLIMB_STEPS = 200  # of one climb for a field; beyond it, another start is better
MAX_FIELD_CRASHES = 3  # first draws that all made the spec's code raise; then the tree is discarded
MAX_FIELD_SPELLINGS = 20  # words of one number, of which one is chosen
MAX_KEPT_NODES = 64  # good nodes of a recursive symbol, to be used inside of others; beyond it, some are dropped
MAX_LEAVES_OF_KEPT_NODE = 100  # leaves of such a node; a larger one is not used inside of others
MAX_MUTATION_TRIES = 6  # changes of a word until one is a word of the language; beyond it, the word is drawn anew
# Fresh trees in a row that fail; from then on, every second one has copies of earlier values in it.
ATTEMPTS_BEFORE_COPIES = 4
MAX_COPIED_FIELDS = 200  # of a tree, the latest ones, whose values are copied
MAX_COPY_TRIES = 8  # fields that are tried until one has a value that another field can have
MAX_STEPS_WITHOUT_GAIN = 300  # beyond it, a climb ends
MAX_STEPS_ON_PLATEAU = 20  # first steps of a climb that all give the same distance; beyond it, the climb ends
MIN_RENEWED_NODES = 20  # nodes a renewed part may have even in a full tree; with fewer it would not vary

MAX_REPEATED_TREES = Limit(
    # A language with a hundred equally likely sentences is exhausted by then, but for one time in twenty thousand.
    1_000, "inputs in a row that were found before", "the grammar counts as exhausted"
)  # fmt: skip
MAX_RELAXATIONS = Limit(
    12, "constraints left out in turn to find a conflict", "the conflict may name more constraints than necessary"
)
MAX_RELAXATION_STEPS = 1_000  # of a search without one of the constraints
MAX_CRASHES = 100  # attempts that all made the spec's code raise; then it is told that it always does
MAX_OPTIMISATION_STEPS = 500  # of a search for a better tree; beyond it, the best so far is taken
MAX_IMPROVEMENTS = 12  # better trees in a row before the best of them is emitted
MAX_REPEATED_OPTIMA = 100  # trees in a row that are as good as wanted, but were found before
MAX_UNBOUNDED_DRAWS = 100  # trees made without regard to objectives, of which one may be better
MAX_SPARE_CANDIDATES = 64  # best trees kept for later when there is an objective
MAX_SHOWN_TREE = 120  # characters of a tree in an explanation
