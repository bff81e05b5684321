"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // Values under "color" and "colorscale" are names of the theme's colours.
  const painted = (value, key) => {
    if (key === "color") return colour(value);
    if (key === "colorscale") return [[0, colour("heat-low")], [0.5, colour("heat-mid")], [1, colour("heat-high")]];
    if (key === "shapes" || key === "annotations") return value.map((one) => painted(one));
    if (Array.isArray(value)) return value;
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, painted(inner, name)]));
  };

  const draw = () => {
    const narrow = window.innerWidth < 700;
    const axis = ({ narrow: small, ...given }) => ({
      gridcolor: colour("line"), linecolor: colour("line"), zerolinecolor: colour("line"), zeroline: false,
      ticklabeloverflow: "allow",
      ...given, ...(narrow ? { ...small, fixedrange: true } : {}),
    });
    for (const [id, plot] of Object.entries(plots)) {
      const layout = {
        ...painted(plot.layout),
        autosize: true,
        dragmode: narrow ? false : "zoom",
        hovermode: "closest",
        paper_bgcolor: "transparent",
        plot_bgcolor: "transparent",
        font: { color: colour("text"), family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
        hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("text") } },
        margin: { l: narrow ? 52 : 66, r: narrow ? 14 : 22, t: 10, b: plot.layout.shapes ? 52 : 34 },
        legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0, traceorder: "normal" },
      };
      for (const name of Object.keys(layout)) if (/^[xy]axis/.test(name)) layout[name] = axis(layout[name]);
      Plotly.react(id, plot.data.map((trace) => painted(trace)), layout, { responsive: true, displayModeBar: false });
    }
  };

  draw();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  window.matchMedia("(max-width: 700px)").addEventListener("change", draw);

  // The part that is being read is marked in the contents.
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const parts = [...links.keys()].map((id) => document.getElementById(id));
  const mark = () => {
    const here = parts.filter((part) => part.getBoundingClientRect().top < 120).pop();
    for (const [id, link] of links) link.classList.toggle("here", here !== undefined && id === here.id);
  };
  document.addEventListener("scroll", mark, { passive: true });
  mark();
})();
