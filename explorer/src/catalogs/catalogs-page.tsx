import { Heading } from "../address";

export function CatalogsPage() {
  return <Heading title="Catalogs" />;
}
