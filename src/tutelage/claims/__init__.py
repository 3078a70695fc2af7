"""Claims: statements of papers as programs that can fail."""

from tutelage.claims.base import Claim as Claim
from tutelage.claims.base import Effort as Effort
from tutelage.claims.base import Form as Form
from tutelage.claims.base import Outcome as Outcome
from tutelage.claims.base import Verdict as Verdict
from tutelage.claims.base import paste as paste
from tutelage.claims.base import worst_of as worst_of
from tutelage.claims.judge import judge as judge
from tutelage.claims.judge import judge_all as judge_all
from tutelage.claims.pointwise import Family as Family
from tutelage.claims.pointwise import Pointwise as Pointwise
from tutelage.claims.pointwise import at_most as at_most
from tutelage.claims.pointwise import equal as equal
from tutelage.claims.pointwise import given as given
from tutelage.claims.registry import all_claims as all_claims
from tutelage.claims.registry import claims_of as claims_of
from tutelage.claims.registry import find as find
from tutelage.claims.scan import Scan as Scan
