"""The explorer: closed forms in the browser, to be touched, from one folder of static pages."""

from tutelage.explorer.witnesses import shown_claims as shown_claims
from tutelage.explorer.witnesses import witness_address as witness_address
from tutelage.explorer.writing import copy_assets as copy_assets
from tutelage.explorer.writing import write_explorer as write_explorer
