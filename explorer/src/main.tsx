import { render } from "preact";

render(<h1>Operator catalogs</h1>, document.getElementById("page")!);
