"""Figures that a paper can print: one style, colours that differ for colour-blind readers too."""

from tutelage.geometry.figures import atlas as atlas
from tutelage.plot.animation import animate as animate
from tutelage.plot.curves import final_losses as final_losses
from tutelage.plot.curves import histories as histories
from tutelage.plot.curves import intervals as intervals
from tutelage.plot.curves import losses as losses
from tutelage.plot.curves import success as success
from tutelage.plot.curves import trajectories as trajectories
from tutelage.plot.maps import landscape as landscape
from tutelage.plot.maps import spectrum as spectrum
from tutelage.style import BLACK as BLACK
from tutelage.style import BLUE as BLUE
from tutelage.style import COLOURS as COLOURS
from tutelage.style import GREEN as GREEN
from tutelage.style import GREY as GREY
from tutelage.style import ORANGE as ORANGE
from tutelage.style import PURPLE as PURPLE
from tutelage.style import RED as RED
from tutelage.style import SEQUENTIAL as SEQUENTIAL
from tutelage.style import SKY as SKY
from tutelage.style import panels as panels
from tutelage.style import render as render
from tutelage.style import styled as styled
