"""Claims: statements of papers as programs that can fail."""

from tutelage.claims.conjectures import Attempt as Attempt
from tutelage.claims.conjectures import conjecture as conjecture
from tutelage.claims.judge import judge as judge
from tutelage.claims.judge import judge_all as judge_all
from tutelage.claims.laws import Law as Law
from tutelage.claims.laws import choice as choice
from tutelage.claims.laws import integers as integers
from tutelage.claims.laws import log_uniform as log_uniform
from tutelage.claims.laws import real as real
from tutelage.claims.laws import uniform as uniform
from tutelage.claims.laws import unit as unit
from tutelage.claims.outcome import Effort as Effort
from tutelage.claims.outcome import Outcome as Outcome
from tutelage.claims.registry import all_claims as all_claims
from tutelage.claims.registry import claims_of as claims_of
from tutelage.claims.registry import find as find
from tutelage.claims.relation import Relation as Relation
from tutelage.claims.statement import Claim as Claim
from tutelage.claims.statement import Form as Form
from tutelage.claims.table import Chance as Chance
from tutelage.claims.table import fitted_order as fitted_order
from tutelage.claims.table import limit as limit
from tutelage.claims.verdict import Verdict as Verdict
from tutelage.claims.verdict import paste as paste
