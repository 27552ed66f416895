from markupsafe import escape


def page(rows):
    items = [
        f'<li class="row" id="{escape(r["id"])}">'
        f'<a href="{escape("/rows/" + str(r["id"]))}">{escape(r["name"])}</a></li>'
        for r in rows
    ]
    return "<ul>" + "".join(items) + "</ul>"


def bench():
    rows = [{"id": i, "name": f"<{i}> & co"} for i in range(1000)]
    return len(page(rows))
