const colour = d3.scaleOrdinal(d3.schemeTableau10).domain(d3.range(head.events.length));
const nameColour = d3.scaleOrdinal(d3.schemeSet2);
