// All points in one draw call. A point has its place (two uint16) and its look (colour, shape, whether it steps back).

const BACK = 8; // added to a shape: the point is not among those that are looked at

const VERTEX = `
attribute vec2 place;
attribute vec4 look;
uniform vec2 scale, shift;
uniform float size;
varying vec3 colour;
varying float shape, back;
void main() {
  float code = floor(look.a * 255.0 + 0.5);
  back = step(${BACK}.0, code);
  shape = code - ${BACK}.0 * back;
  colour = look.rgb;
  gl_Position = vec4(place * scale + shift, back * 0.5, 1.0);
  gl_PointSize = size * (1.0 - 0.35 * back);
}`;

const FRAGMENT = `
precision highp float;  // as in the other half, which shares a uniform
uniform float size;
uniform vec3 paper;
varying vec3 colour;
varying float shape, back;
void main() {
  vec2 p = 2.0 * gl_PointCoord - 1.0;
  float far = length(p);
  if (shape > 3.5) far = max(min(abs(p.x), abs(p.y)) * 2.6, max(abs(p.x), abs(p.y)));
  else if (shape > 2.5) far = abs(p.x) + abs(p.y);
  else if (shape > 1.5) far = max(abs(p.x) * 1.05 - 0.5 * p.y + 0.45, p.y * 1.1 + 0.1);
  else if (shape > 0.5) far = max(abs(p.x), abs(p.y)) * 1.15;
  float alpha = 1.0 - smoothstep(1.0 - 2.5 / size, 1.0, far);
  if (alpha < 0.05) discard;
  alpha *= mix(0.92, 0.3, back);
  vec3 seen = mix(colour, paper, 0.55 * back);
  seen *= 1.0 - 0.3 * smoothstep(0.55, 0.9, far) * (1.0 - back);  // a rim, so that neighbours stay apart
  gl_FragColor = vec4(seen * alpha, alpha);
}`;

export class Scatter {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl", { alpha: true, antialias: false, preserveDrawingBuffer: false });
    this.n = 0;
    if (!this.gl) return;
    this.prepare();
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.prepare();
      if (this.n) this.points(this.places);
      if (this.looked) this.looks(this.looked);
      this.again?.();
    });
  }

  prepare() {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.at = Object.fromEntries(["scale", "shift", "size", "paper"].map((name) => [name, gl.getUniformLocation(program, name)]));
    this.buffers = ["place", "look"].map((name) => ({ buffer: gl.createBuffer(), at: gl.getAttribLocation(program, name) }));
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
  }

  points(places) {
    this.places = places;
    this.n = places.length / 2;
    if (this.gl) this.put(this.buffers[0], places, 2, this.gl.UNSIGNED_SHORT);
  }

  // n × 4 bytes: red, green, blue and the shape, with BACK added where the point steps back.
  looks(values) {
    this.looked = values;
    if (this.gl) this.put(this.buffers[1], values, 4, this.gl.UNSIGNED_BYTE);
  }

  put({ buffer, at }, values, width, type) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, width, type, true, 0, 0);
  }

  draw(camera, paper) {
    const gl = this.gl;
    if (!gl || !this.n || !this.looked) return;
    const { width, height } = this.canvas;
    const ratio = camera.ratio;
    const [sx, sy] = [(2 * camera.scale * ratio) / width, (2 * camera.scale * ratio) / height];
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.uniform2f(this.at.scale, sx, sy);
    gl.uniform2f(this.at.shift, -camera.x * sx, -camera.y * sy);
    gl.uniform1f(this.at.size, camera.pointSize(this.n) * ratio);
    gl.uniform3f(this.at.paper, ...paper.map((value) => value / 255));
    gl.drawArrays(gl.POINTS, 0, this.n);
  }
}

export const stepsBack = (shape) => shape + BACK;
