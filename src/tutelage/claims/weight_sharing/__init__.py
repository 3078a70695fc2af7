"""Every numbered statement of the weight-sharing paper, and some unnumbered ones that carry weight."""

from tutelage.claims.weight_sharing import degrees, gradients, outer, shared, two_phases, unshared, wave, wave_proofs

CLAIMS = (
    *degrees.CLAIMS,
    *wave.CLAIMS,
    *gradients.MAIN,
    *unshared.CLAIMS,
    *shared.CLAIMS,
    *outer.CLAIMS,
    *wave_proofs.CLAIMS,
    *gradients.APPENDIX,
    *unshared.APPENDIX,
    *two_phases.CLAIMS,
)
