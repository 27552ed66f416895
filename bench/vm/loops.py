def bench():
    total = 0
    for i in range(300):
        for j in range(300):
            total += i * j % 7
    return total
