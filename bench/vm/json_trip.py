import json


def bench():
    rows = [{"id": i, "name": f"name {i}", "tags": ["a", "b"], "score": i * 0.5} for i in range(500)]
    text = json.dumps(rows, ensure_ascii=False)
    read = json.loads(text)
    total = 0.0
    for row in read:
        total += row["score"]
    return [len(text), total]
