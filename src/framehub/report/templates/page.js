"use strict";
(() => {
  const plots = JSON.parse(document.getElementById("plots").textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const axis = (given) => ({ gridcolor: colour("line"), zeroline: false, linecolor: colour("line"), ...given });

  const draw = () => {
    const narrow = window.innerWidth < 700;
    for (const [id, plot] of Object.entries(plots)) {
      const data = plot.data.map((trace) => ({ ...trace, marker: { color: colour(trace.marker.color) } }));
      const layout = {
        ...plot.layout,
        autosize: true,
        paper_bgcolor: "transparent",
        plot_bgcolor: "transparent",
        font: { color: colour("text"), family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
        margin: { l: narrow ? 40 : 60, r: 10, t: 10, b: 50 },
        legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0, traceorder: "normal" },
        bargap: 0.25,
        xaxis: axis(plot.layout.xaxis),
        yaxis: axis(plot.layout.yaxis),
      };
      Plotly.react(id, data, layout, { responsive: true, displayModeBar: false });
    }
  };

  draw();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
