def bench():
    x = 12345
    rows = []
    for _ in range(3000):
        x = x * 16807 % 2147483647
        rows.append({"key": x, "name": f"n{x % 100}"})
    ordered = sorted(rows, key=lambda r: r["key"])
    return [ordered[0]["key"], ordered[2999]["name"]]
