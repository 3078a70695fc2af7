"""Shows the constructor of an Equinox module: its fields are the arguments, as in a data class."""

import griffe


def is_module(class_: griffe.Class) -> bool:
    """Whether a class descends from `equinox.Module`."""
    lineage = [class_, *class_.mro()]
    bases = {str(base) for ancestor in lineage for base in ancestor.bases}
    return not bases.isdisjoint({"eqx.Module", "equinox.Module"})


def parameter(field: griffe.Attribute) -> griffe.Parameter:
    """The argument that sets a field."""
    default = field.value
    call = default.last if isinstance(default, griffe.ExprAttribute) else default
    if isinstance(call, griffe.ExprCall) and str(call.function).endswith("field"):
        keywords = {argument.name: argument.value for argument in call.arguments}
        factory = keywords.get("default_factory")
        default = griffe.ExprCall(factory, []) if factory else keywords.get("default")
    return griffe.Parameter(
        field.name,
        annotation=field.annotation,
        kind=griffe.ParameterKind.positional_or_keyword,
        default=default,
    )


class EquinoxModules(griffe.Extension):
    """Gives an Equinox module without `__init__` the one that Equinox generates."""

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        """Visit each class of a loaded package."""
        self.visit(pkg)

    def visit(self, scope: griffe.Module | griffe.Class) -> None:
        """Visit the classes in a scope."""
        for member in list(scope.members.values()):
            if member.is_alias:
                continue
            if isinstance(member, griffe.Class) and "__init__" not in member.members and is_module(member):
                self.add_init(member)
            if isinstance(member, griffe.Module | griffe.Class):
                self.visit(member)

    def add_init(self, class_: griffe.Class) -> None:
        """Add the generated `__init__`; an abstract field is no argument until a class declares it."""
        parameters = {}
        for ancestor in [*reversed(class_.mro()), class_]:
            for field in ancestor.members.values():
                if not field.is_attribute or field.annotation is None or "property" in field.labels:
                    continue
                constant = "class-attribute" in field.labels and "instance-attribute" not in field.labels
                abstract = "Abstract" in str(field.annotation)
                if not constant and not abstract:
                    parameters[field.name] = parameter(field)
        if parameters:
            itself = griffe.Parameter("self", kind=griffe.ParameterKind.positional_or_keyword)
            init = griffe.Function("__init__", parameters=griffe.Parameters(itself, *parameters.values()))
            class_.set_member("__init__", init)
