// Debian's D3 has no types; what a chart does with it is checked by the browser tests.
declare module "d3-array";
declare module "d3-axis";
declare module "d3-brush";
declare module "d3-format";
declare module "d3-hierarchy";
declare module "d3-scale";
declare module "d3-selection";
declare module "d3-shape";
declare module "d3-zoom";
