"""Figures that a paper can print: one style, colours that differ for colour-blind readers too."""

from tutelage.plot.curves import histories as histories
from tutelage.plot.curves import intervals as intervals
from tutelage.plot.curves import losses as losses
from tutelage.plot.curves import success as success
from tutelage.plot.curves import trajectories as trajectories
from tutelage.plot.maps import atlas as atlas
from tutelage.plot.maps import landscape as landscape
from tutelage.plot.maps import spectrum as spectrum
from tutelage.plot.style import BLACK as BLACK
from tutelage.plot.style import BLUE as BLUE
from tutelage.plot.style import COLOURS as COLOURS
from tutelage.plot.style import GREEN as GREEN
from tutelage.plot.style import GREY as GREY
from tutelage.plot.style import ORANGE as ORANGE
from tutelage.plot.style import PURPLE as PURPLE
from tutelage.plot.style import RED as RED
from tutelage.plot.style import SEQUENTIAL as SEQUENTIAL
from tutelage.plot.style import SKY as SKY
from tutelage.plot.style import panels as panels
from tutelage.plot.style import render as render
from tutelage.plot.style import styled as styled
