def bench():
    points = []
    for i in range(4000):
        points.append({"x": i, "y": i * 2, "name": "p"})
    total = 0
    for p in points:
        total += p["x"] + p["y"] + len(p["name"])
    return total
