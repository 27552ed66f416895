def area(kind, size):
    match kind:
        case "circle":
            return size * size * 3
        case "square":
            return size * size
        case _:
            return 0


def bench():
    kinds = ["circle", "square", "point"]
    total = 0
    for i in range(15000):
        total += area(kinds[i % 3], i % 10)
    return total
