"""Every numbered statement of the weight-sharing paper, and some unnumbered ones that carry weight."""

from tutelage.claims.weight_sharing import degrees, gradients, outer, shared, two_phases, unshared, wave

CLAIMS = (
    *degrees.CLAIMS,
    *wave.MAIN,
    *gradients.MAIN,
    *unshared.CLAIMS,
    *shared.CLAIMS,
    *outer.CLAIMS,
    *wave.APPENDIX,
    *gradients.APPENDIX,
    *two_phases.CLAIMS,
)
