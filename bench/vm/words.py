def text():
    return " ".join([f"w{i * 7919 % 997}" for i in range(6000)])


def bench():
    counts = {}
    for word in text().split(" "):
        counts[word] = counts.get(word, 0) + 1
    most = 0
    for word in counts:
        most = max(most, counts.get(word, 0))
    return [len(counts), most]
