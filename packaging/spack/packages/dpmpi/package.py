# Not built yet: only its syntax is checked. In a checkout, with Spack:
#   spack repo add packaging/spack
#   spack dev-build dpmpi@0.1.0
# There is no url, because there is no release: dev-build takes the checkout in which it is called.
from spack.package import *


class Dpmpi(CMakePackage):
    """Differentially private training of models on data spread over MPI ranks."""

    version("0.1.0")

    variant("native", default=True, description="tune for the processor of this machine (-march=native)")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("mpi")
    depends_on("boost@1.74: +program_options")
    depends_on("eigen@3.4:", type=("build", "link"))
    depends_on("fftw@3: precision=double")
    depends_on("fmt@9:")
    depends_on("hdf5")
    depends_on("nlohmann-json")
    depends_on("openssl@3:")
    depends_on("random123", type="build")
    depends_on("zlib-api")
    depends_on("googletest", type="test")

    requires("target=x86_64_v3:", msg="kernels are written for AVX2 and FMA")

    def cmake_args(self):
        return [
            self.define_from_variant("DPMPI_NATIVE", "native"),
            self.define("DPMPI_UNITY", True),
            self.define("DPMPI_TESTS", self.run_tests),
            self.define("RANDOM123_INCLUDE", self.spec["random123"].prefix.include),
            self.define("FFTW_INCLUDE", self.spec["fftw"].prefix.include),
            self.define("HDF5_INCLUDE", self.spec["hdf5"].prefix.include),
        ]
