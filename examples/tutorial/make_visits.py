"""make_visits.py [ROWS] [SEED]: a table of visits to a web shop, to try things with. Whether a visit ends with a purchase
depends on device, page, age, the minutes spent, and on device and page together; some cells are empty."""
import math
import random
import sys

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1).random
devices = {"phone": -0.6, "laptop": 0.5, "tablet": -0.1}
pages = {"shoes": 0.4, "coats": -0.3, "books": 0.9, "sale": 1.2, "news": -1.6}
towns = ["town-%d" % i for i in range(60)]


def pick(things):
    return list(things)[int(len(things) * draw() ** 1.5)]


print("visit,device,page,town,age,minutes,bought")
for visit in range(rows):
    device, page, town = pick(devices), pick(pages), pick(towns)
    age, minutes = 16 + int(60 * draw() ** 1.4), round(40 * draw() ** 3, 1)
    odds = devices[device] + pages[page] - ((age - 38) / 18) ** 2 + math.log(minutes + 0.5) - 1.2
    odds += 1.5 if (device, page) == ("phone", "sale") else 0
    odds += math.sin(7 * int(town[5:]))
    bought = "yes" if draw() < 1 / (1 + math.exp(-odds)) else "no"
    print("v%06d,%s,%s,%s,%s,%s,%s" % (visit, device, page, town, "" if draw() < 0.05 else age, minutes, bought))
