def bench():
    n = 3
    doubled = [x * n for x in range(5000)]
    odd = [x for x in doubled if x % 2 == 1]
    total = 0
    for x in odd:
        total += x
    return total
