def a(i, j):
    return 1.0 / ((i + j) * (i + j + 1) // 2 + i + 1)


def times(u):
    n = len(u)
    out = []
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += a(i, j) * u[j]
        out.append(total)
    return out


def bench():
    u = [1.0 for _ in range(40)]
    for _ in range(6):
        u = times(u)
        most = max(u)
        u = [x / most for x in u]
    return round(sum(u), 6)
