from math import sqrt


def body(i):
    return {
        "x": i * 1.5,
        "y": i * 0.5 - 1.0,
        "z": i * 0.25,
        "vx": 0.01 * i,
        "vy": 0.02,
        "vz": 0.0 - 0.01 * i,
        "mass": 1.0 + i,
    }


def energy(bodies):
    e = 0.0
    for b in bodies:
        e += 0.5 * b["mass"] * (b["vx"] * b["vx"] + b["vy"] * b["vy"] + b["vz"] * b["vz"])
    return e


def bench():
    bodies = [body(i) for i in range(5)]
    n = len(bodies)
    dt = 0.01
    for _ in range(200):
        for i in range(n):
            a = bodies[i]
            vx = a["vx"]
            vy = a["vy"]
            vz = a["vz"]
            for j in range(n):
                if i != j:
                    b = bodies[j]
                    dx = a["x"] - b["x"]
                    dy = a["y"] - b["y"]
                    dz = a["z"] - b["z"]
                    d = dx * dx + dy * dy + dz * dz + 0.01
                    mag = b["mass"] * dt / (d * sqrt(d))
                    vx -= dx * mag
                    vy -= dy * mag
                    vz -= dz * mag
            bodies[i] = {
                "x": a["x"] + dt * vx,
                "y": a["y"] + dt * vy,
                "z": a["z"] + dt * vz,
                "vx": vx,
                "vy": vy,
                "vz": vz,
                "mass": a["mass"],
            }
    return round(energy(bodies), 6)
