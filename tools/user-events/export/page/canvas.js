
// The canvas, and what of time and rows is in view.

const canvas = $("canvas"), context = canvas.getContext("2d"), picture = context;
const font = "12px system-ui, sans-serif";
// Of the labels of rows: less in a narrow window.
const wideMargin = 190, narrowMargin = 96, narrowWindow = 700;
let margin = wideMargin;
const whole = d3.scaleLinear().domain([0, lastTime || 1]);
let x = whole.copy(), width = 0, height = 0;
