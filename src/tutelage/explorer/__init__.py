"""The explorer: closed forms in the browser, to be touched, from one folder of static pages."""

from tutelage.explorer.writing import write_explorer as write_explorer
