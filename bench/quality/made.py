"""Tables with a known kind of difficulty, as CSV files: what `make bench` compares on besides tables that the user names.
Each function yields rows of (label, column, ...) below a header; probabilities come from formulas that no model here has."""
import math
import random

SEED = 20260101


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def zipf(rng, n, power=1.1):
    """0 is the most frequent of n."""
    return min(int(n * rng.random() ** (1 + 2 * power)), n - 1)


def census(rows):
    """Mixed columns of a census: few categories, skewed numbers, thresholds and interactions; 24 % positive."""
    rng = random.Random(SEED + 1)
    yield "income,age,work,degree,years,status,job,relation,sex,gain,loss,hours,country"
    works, jobs, status = ["private", "self", "state", "federal", ""], ["job%d" % i for i in range(14)], ["married", "single", "divorced", "widowed"]
    job_effect = [rng.gauss(0, 0.7) for _ in jobs]
    for _ in range(rows):
        age, years = int(min(90, 17 + rng.gammavariate(2.5, 9))), min(16, max(1, int(rng.gauss(10, 2.6))))
        work, job = rng.choices(works, (70, 11, 7, 3, 9))[0], zipf(rng, 14, 0.3)
        state = rng.choices(status, (46, 33, 18, 3) if age > 25 else (12, 84, 3, 1))[0]
        sex, hours = rng.choice("MMF"), min(99, max(1, int(rng.gauss(40, 12)))) if rng.random() < 0.5 else 40
        gain = int(math.exp(rng.gauss(8.4, 1))) if rng.random() < 0.09 else 0
        loss = int(rng.gauss(1870, 300)) if gain == 0 and rng.random() < 0.05 else 0
        country = "US" if rng.random() < 0.9 else "C%02d" % zipf(rng, 40, 0.5)
        x = -3.9 + 0.32 * (years - 10) + job_effect[job] + (2.3 if state == "married" else 0) + 0.02 * (hours - 40)
        x += -0.0016 * (age - 48) ** 2 + (3 if gain > 7000 else 0) + (1.6 if 1800 < loss < 2000 else 0)
        x += 0.5 * (work == "federal") + 0.4 * (sex == "M" and state != "married") + 1.1
        yield ">50K,%d,%s,d%d,%d,%s,%s,%s,%s,%d,%d,%d,%s" % (age, work, years // 3, years, state, jobs[job], "spouse" if state == "married" else "other", sex, gain, loss, hours, country) \
            if rng.random() < sigmoid(x) else "<=50K,%d,%s,d%d,%d,%s,%s,%s,%s,%d,%d,%d,%s" % (age, work, years // 3, years, state, jobs[job], "spouse" if state == "married" else "other", sex, gain, loss, hours, country)


def ids(rows):
    """Click log of large vocabularies: users, items, sites with tastes of 4 dimensions, most of them rare; 20 % positive."""
    rng = random.Random(SEED + 2)
    sizes = {"user": 30000, "item": 8000, "site": 1500, "city": 300, "device": 60, "hour": 24, "slot": 7}
    taste = {k: [[rng.gauss(0, 0.6) for _ in range(4)] for _ in range(n)] for k, n in sizes.items() if k in ("user", "item", "site")}
    bias = {k: [rng.gauss(0, 0.45) for _ in range(n)] for k, n in sizes.items()}
    yield "click," + ",".join(sizes)
    for _ in range(rows):
        v = {k: zipf(rng, n) for k, n in sizes.items()}
        x = -1.7 + sum(bias[k][v[k]] for k in v)
        for a, b in (("user", "item"), ("item", "site")):
            x += sum(p * q for p, q in zip(taste[a][v[a]], taste[b][v[b]]))
        yield "%d,%s" % (rng.random() < sigmoid(x), ",".join("%s%x" % (k[0], v[k] * 7919 % 1000003) for k in sizes))


def ordered(rows):
    """Ids that are numbers and were given in order (older ads, growing campaigns), and 4 % positive: trees like these."""
    rng = random.Random(SEED + 3)
    yield "clicked,impressions,ad,advertiser,depth,position,query,keyword,title,gender,age"
    steps = [rng.gauss(0, 0.5) for _ in range(400)]
    for i in range(1, 400):
        steps[i] = 0.85 * steps[i - 1] + 0.5 * steps[i]
    own = [rng.gauss(0, 0.4) for _ in range(20000)]
    for _ in range(rows):
        ad = 20000000 + (a := zipf(rng, 20000, 0.5)) * 113
        advertiser, query = 1000 + a // 9, int(math.exp(rng.uniform(0, 16)))
        depth = rng.choice((1, 2, 2, 3))
        position, keyword, title = rng.randint(1, depth), int(math.exp(rng.uniform(2, 13))), a * 31 % 40009
        gender, age, shown = rng.choice((0, 1, 1, 2)), rng.randint(1, 6), 1 + int(rng.expovariate(0.6))
        x = -3.4 + steps[a // 50] + own[a] - 0.7 * (position - 1) + 0.25 * (depth == 1) + 0.12 * (age - 3) ** 2 / 2
        x += -0.11 * math.log(query) + 0.6 * math.sin(math.log(keyword)) + 0.5 * math.log(shown)
        yield "%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d" % (rng.random() < sigmoid(x), shown, ad, advertiser, depth, position, query, keyword, title, gender, age)


def numbers(rows):
    """Nothing but numbers: 20 of them, some skewed, some noise, with products and thresholds; 30 % positive."""
    rng = random.Random(SEED + 4)
    yield "y," + ",".join("x%d" % i for i in range(20))
    for _ in range(rows):
        v = [rng.gauss(0, 1) for _ in range(20)]
        for i in range(5):
            v[i] = math.exp(v[i])
        x = -1.4 + 0.8 * math.log(v[0]) + (1.2 if v[1] > 2 else 0) + v[6] * v[7] + 0.7 * abs(v[8]) - 0.6 * v[9] + math.sin(2 * v[10])
        yield "%d,%s" % (rng.random() < sigmoid(x), ",".join("%.4g" % t for t in v))


def few(rows):
    """The census with few rows."""
    return census(rows)


TABLES = {"census": (census, 40000), "ids": (ids, 200000), "ordered": (ordered, 150000), "numbers": (numbers, 30000), "few": (few, 3000)}


def write(name, path, scale=1.0):
    make, rows = TABLES[name]
    with open(path, "w") as file:
        for line in make(int(rows * scale)):
            file.write(line + "\n")
