// Python and TOML that reproduce a picture.
{
  // A number that Python and TOML read as the same float.
  const float = (value) => (Number.isInteger(value) && Math.abs(value) < 1e16 ? `${value}.0` : String(value));
  const list = (values) => `[${Array.from(values, float).join(", ")}]`;

  function matrix(values, columns, indent = "    ") {
    const rows = [];
    for (let i = 0; i < values.length; i += columns) rows.push(`${indent}${list(values.slice(i, i + columns))},`);
    return `[\n${rows.join("\n")}\n${indent.slice(4)}]`;
  }

  // The arguments of one stop, with what limits it.
  const stop = ({ tolerance, limit, goal }) =>
    [`tl.gradient_norm(${tolerance})`, ...(goal ? [`tl.loss_below(${goal})`] : []), `tl.step_limit(${limit})`].join(" | ");

  const header = "import numpy as np\n\nimport tutelage as tl\n\n";

  // The tables of a specification that all explorations share.
  const procedure = ({ starts, step, tolerance, limit, goal, quantities }) =>
    `[objective]\nkind = "population"\n\n[starts]\n${starts}\n\n[method]\nkind = "gradient_descent"\nstep = ${float(step)}\n\n` +
    `[stop]\ngradient_norm = ${tolerance}\nstep_limit = ${limit}\n${goal ? `loss_below = ${goal}\n` : ""}\n` +
    `[record]\nquantities = ${JSON.stringify(quantities)}\nat_most = 500\n`;

  Object.assign(tutelage, { code: { float, list, matrix, stop, header, procedure } });
}
