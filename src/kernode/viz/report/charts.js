// Draws every chart of the page when it comes into view, in the colours of the reader's theme.
(function () {
  "use strict";
  var charts = JSON.parse(document.getElementById("charts").textContent);
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var still = window.matchMedia("(prefers-reduced-motion: reduce)");
  // The same hues, lighter, for a dark page.
  var lighter = {
    "#0072b2": "#3d9df0", "#d55e00": "#f28a3a", "#009e73": "#2fc99b", "#cc79a7": "#e29bc4",
    "#e69f00": "#f0b840", "#56b4e9": "#a5dcf8", "#4d4d4d": "#cfcfcf", "#a6a6a6": "#8a8f98"
  };
  var scales = {
    light: {
      values: [[0, "#440154"], [0.27, "#3b528b"], [0.54, "#21918c"], [0.81, "#5ec962"], [1, "#c5d627"]],
      diverging: [[0, "#2166ac"], [0.25, "#92c5de"], [0.5, "#f7f7f7"], [0.75, "#f4a582"], [1, "#b2182b"]],
      sequential: [[0, "#f5f9fd"], [0.3, "#cfe1f2"], [0.55, "#93c0e2"], [0.65, "#3a80b8"], [1, "#08407a"]]
    },
    dark: {
      values: [[0, "#6a5acd"], [0.27, "#4a86c5"], [0.54, "#2fb3a6"], [0.81, "#8ed95c"], [1, "#fdf28a"]],
      diverging: [[0, "#5aa9f0"], [0.25, "#28507a"], [0.5, "#1a1e25"], [0.75, "#8a3434"], [1, "#ff7b6b"]],
      sequential: [[0, "#1a2029"], [0.25, "#1f3a5c"], [0.6, "#2a5d94"], [1, "#3576b5"]]
    }
  };
  var gl = (function () {
    try { return !!document.createElement("canvas").getContext("webgl"); } catch (e) { return false; }
  })();

  // On a narrow page some charts are less high: by how wide they are.
  function height(chart, place) {
    return chart.ratio ? Math.min(chart.height, Math.max(260, place.clientWidth * chart.ratio)) : chart.height;
  }

  function themed(chart, place) {
    var copy = JSON.parse(JSON.stringify(chart));
    var css = getComputedStyle(document.documentElement);
    var ink = css.getPropertyValue("--ink").trim(), quiet = css.getPropertyValue("--quiet").trim();
    var line = css.getPropertyValue("--line").trim(), paper = css.getPropertyValue("--card").trim();
    copy.data.forEach(function (trace) {
      if (trace.type === "scattergl" && !gl) { trace.type = "scatter"; }
      if (trace.type === "heatmap") { trace.colorscale = scales[dark.matches ? "dark" : "light"][chart.scale]; }
      if (trace.marker && Array.isArray(trace.marker.color)) {
        trace.marker.colorscale = scales[dark.matches ? "dark" : "light"][chart.scale];
      }
      ["marker", "line", "error_y"].forEach(function (part) {
        var own = trace[part];
        if (own && dark.matches && lighter[own.color]) { own.color = lighter[own.color]; }
      });
      if (trace.marker && trace.marker.line) { trace.marker.line.color = ink; }
    });
    var layout = copy.layout;
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)";
    layout.font = { color: ink, family: css.getPropertyValue("--font"), size: 13 };
    layout.hoverlabel = { bgcolor: paper, bordercolor: quiet, font: { color: ink } };
    layout.height = height(chart, place);
    ["xaxis", "yaxis"].forEach(function (name) {
      layout[name] = Object.assign({ gridcolor: line, zerolinecolor: line, linecolor: line }, layout[name]);
    });
    (layout.shapes || []).forEach(function (shape) { shape.line.color = quiet; });
    (layout.annotations || []).forEach(function (note) { note.font = { color: quiet, size: 12 }; });
    if (window.innerWidth < 560) { narrow(layout, copy.data); }
    return copy;
  }

  function narrow(layout, traces) {
    layout.font.size = 11;
    traces.forEach(function (trace) {
      if (trace.colorbar) { trace.showscale = false; }
      if (trace.marker && Array.isArray(trace.marker.size)) {
        trace.marker.size = trace.marker.size.map(function (size) { return 0.7 * size; });
      }
    });
    ["xaxis", "yaxis"].forEach(function (name) {
      var axis = layout[name];
      if (axis.ticktext) {
        axis.ticktext = axis.ticktext.map(function (text) {
          return text.length > 14 ? text.slice(0, 13).replace(/&[^;]*$/, "") + "…" : text;
        });
        if (axis.title) { delete axis.title; }
      }
    });
  }

  function draw(place) {
    var chart = themed(charts[place.dataset.chart], place);
    var config = {
      responsive: true, displaylogo: false, scrollZoom: false,
      displayModeBar: false
    };
    if (still.matches) { chart.layout.transition = { duration: 0 }; }
    window.Plotly.react(place, chart.data, chart.layout, config);
    place.dataset.drawn = "yes";
  }

  var places = Array.prototype.slice.call(document.querySelectorAll("[data-chart]"));
  places.forEach(function (place) {
    place.style.minHeight = height(charts[place.dataset.chart], place) + "px";
  });
  var seen = new IntersectionObserver(function (entries) {
    entries.forEach(function (entry) {
      if (entry.isIntersecting) { seen.unobserve(entry.target); draw(entry.target); }
    });
  }, { rootMargin: "300px" });
  function again() {
    places.forEach(function (place) { if (place.dataset.drawn) { draw(place); } });
  }
  function load() {
    if (window.Plotly) { return; }
    var code = document.createElement("script");
    code.textContent = document.getElementById("plotly").textContent;
    document.body.appendChild(code);
  }
  // Words and tables are there first: plotly's code is read when they have been drawn.
  function start() {
    load();
    places.forEach(function (place) { seen.observe(place); });
    dark.addEventListener("change", again);
    window.addEventListener("orientationchange", function () { window.setTimeout(again, 200); });
  }
  // Paper has no view to come into, and may be asked for before anything was drawn.
  window.addEventListener("beforeprint", function () { load(); places.forEach(draw); });
  window.addEventListener("load", function () {
    window.requestAnimationFrame(function () { window.setTimeout(start, 0); });
  });
})();
