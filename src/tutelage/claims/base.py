"""What a claim is made of, in one place."""

from tutelage.claims.outcome import EFFORTS as EFFORTS
from tutelage.claims.outcome import Effort as Effort
from tutelage.claims.outcome import Judgement as Judgement
from tutelage.claims.outcome import Outcome as Outcome
from tutelage.claims.outcome import effort_named as effort_named
from tutelage.claims.statement import Claim as Claim
from tutelage.claims.statement import Form as Form
from tutelage.claims.verdict import Verdict as Verdict
from tutelage.claims.verdict import paste as paste
