/* Regions of a program, for weftrun --breakdown and event files: each is shown with efficiencies of its own, and each
   time that a rank is in it as an iteration. They nest, and cost nothing but a look at a flag when nobody asks.

     for (int step = 0; step < steps; ++step) {
       weft_region_begin("step");
       advance();
       weft_region_end();
     }

   Called by a rank's own code; elsewhere both do nothing. MPI_Pcontrol(n) with n > 1 begins the region "phase n",
   MPI_Pcontrol(-n) ends it. */
#ifndef WEFT_REGION_H
#define WEFT_REGION_H

#ifdef __cplusplus
extern "C" {
#endif

/* `name` is copied, up to 47 bytes of it. */
void weft_region_begin(const char* name);

/* Ends the region that began last. */
void weft_region_end(void);

#ifdef __cplusplus
}
#endif
#endif
