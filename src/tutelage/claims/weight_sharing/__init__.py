"""Every numbered statement of the weight-sharing paper, and some unnumbered ones that carry weight."""

from tutelage.claims.weight_sharing import (
    degrees,
    gradients,
    outer,
    phase_steps,
    shared,
    steps,
    two_phases,
    unshared,
    wave,
    wave_proofs,
    wave_steps,
)

CLAIMS = (
    *degrees.CLAIMS,
    *wave.CLAIMS,
    *gradients.MAIN,
    *unshared.CLAIMS,
    *shared.CLAIMS,
    *outer.CLAIMS,
    *wave_proofs.CLAIMS,
    *wave_steps.CLAIMS,
    *gradients.APPENDIX,
    *steps.CLAIMS,
    *unshared.APPENDIX,
    *two_phases.CLAIMS,
    *phase_steps.CLAIMS,
)
