def bench():
    parts = []
    for i in range(5000):
        parts.append(f"item {i}: {i * i};")
    return len("\n".join(parts))
