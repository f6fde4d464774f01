"""The pages report.html, of a run, and check.html, of a mechanism, drawn from files of numbers.

Last in the flow; nothing else in combred imports matplotlib. A page is a `Page` of sections, and a
section a list of blocks (`blocks`). `ignition_section`, `flame_section` and `stirred_section` show
the results of any number of solvers, networks or mechanisms beside a reference, on every page. They
take rows of plain numbers by name. A new page reads its file of numbers and is a dozen lines:

    record = read_finished(folder / "reduce.json", "flames", "reduction")
    page = Page(
        title=f"{record['mechanism']}, reduced", name=record["mechanism"], alarms=[],
        verdict="...", further="...",
        head=[Picture("species", partial(draw_errors, record), alt, caption, "reduce.json")],
        sections=[
            ignition_section(said, record["ignitions"], "reduce.json"),
            flame_section(said, record["flames"], curves, ("reduce.json", "reduce.h5")),
        ],
    )
    write_page(folder / "reduce.html", page)

A figure is a function of plain numbers, which `write_page` calls in the style of all pages; it
computes nothing.
"""
