def bench():
    n = 20000
    prime = [True for _ in range(n)]
    count = 0
    for i in range(2, n):
        if prime[i]:
            count += 1
            j = i * i
            while j < n:
                prime[j] = False
                j += i
    return count
