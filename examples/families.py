"""A family of minima: how spurious minima begin between five and six neurons, and what becomes of them with many."""

import tutelage as tl

family = tl.family("k-1,1")

print("critical points with a hundred thousand neurons (10¹⁰ parameters):")
for point in family.points(100_000):
    print(f"  {point.kind:15} loss {point.loss:.6g}, index {point.index}, {len(point.spectrum)} different eigenvalues")

minimum = family.points(20)[1]
branch = family.follow(minimum, to=5)
for event in branch.events:
    low, high = branch.enclose(event)
    print(f"an eigenvalue (type: {event.type}) is zero for a real number of neurons between {low:.12f} and {high:.12f}")

print("as the number k of neurons grows, the loss is")
print(f"  {family.expand(minimum, terms=3).loss}")

print(minimum.certify(digits=20))
